// Sends the chosen file with tus-js-client, and goes on where an earlier page had to stop.

const seen = { accepted: 0, began: null, found: 0, ended: null };
window.seen = seen;

window.send = async (key, chunkSize) => {
  const [file] = document.querySelector("input").files;
  const upload = new tus.Upload(file, {
    endpoint: "/api/uploads",
    chunkSize,
    retryDelays: [0, 200, 400, 800, 800, 800, 800],
    headers: { Authorization: `Bearer ${key}` },
    metadata: { filename: file.name, title: "From a browser", text: "false" },
    removeFingerprintOnSuccess: true,
    onProgress: (sent) => { seen.began ??= sent; },
    onChunkComplete: (_, accepted) => { seen.accepted = accepted; },
    onSuccess: () => { seen.ended = "success"; },
    onError: (error) => { seen.ended = String(error); },
  });
  const earlier = await upload.findPreviousUploads();
  seen.found = earlier.length;
  if (earlier.length) upload.resumeFromPreviousUpload(earlier[0]);
  upload.start();
};
