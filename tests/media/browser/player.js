// Plays /set/master.m3u8, changes the level in the middle of every segment, notes what it saw.

import Hls from "/hls.mjs";

const SEGMENT_S = 0.5;
let lastTurn = -1;

const video = document.querySelector("video");
const seen = { errors: [], stalls: 0, levels: [], times: [], frames: 0, dropped: 0, duration: 0, ended: false };
window.seen = seen;

// a short buffer, so that the next segment is fetched when one has been played
const hls = new Hls({ maxBufferLength: 1, maxMaxBufferLength: 1, startLevel: 0 });
hls.on(Hls.Events.ERROR, (_, data) => {
  // what hls.js itself gave up loading because the level was turned meanwhile says nothing about the set;
  // nor does a wait for what is not made yet, or for a busy machine: a hole has errors of its own
  if (data.details === Hls.ErrorDetails.BUFFER_STALLED_ERROR && !data.fatal) seen.stalls += 1;
  else if (data.details !== Hls.ErrorDetails.INTERNAL_ABORTED) seen.errors.push(`${data.type} ${data.details}`);
});
hls.on(Hls.Events.FRAG_BUFFERED, (_, { frag }) => {
  if (frag.type === "main" && frag.sn !== "initSegment") seen.levels[frag.sn] = frag.level;
});

const watch = (_, { mediaTime }) => {
  seen.times.push(mediaTime);
  const turn = Math.floor(mediaTime / SEGMENT_S - 0.5);
  if (turn > lastTurn) hls.loadLevel = (hls.loadLevel + 1) % hls.levels.length;
  lastTurn = Math.max(turn, lastTurn);
  video.requestVideoFrameCallback(watch);
};
video.requestVideoFrameCallback(watch);
video.addEventListener("error", () => seen.errors.push(`video ${video.error.message}`));
video.addEventListener("ended", () => {
  const quality = video.getVideoPlaybackQuality();
  seen.frames = quality.totalVideoFrames;
  seen.dropped = quality.droppedVideoFrames;
  seen.duration = video.duration;
  seen.ended = true;
});

hls.attachMedia(video);
hls.loadSource("/set/master.m3u8");
video.play();
