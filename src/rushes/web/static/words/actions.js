const jobs = (n, text) => `${text ?? n} ${n === 1 ? "job" : "jobs"}`;

export default {
  retry: "Retry", kill: "Kill…", priority: "Priority", commands: "As commands…", open: "Open",
  priorities: { low: "low", normal: "normal", high: "high", urgent: "urgent" },
  retried: (n, text) => (n === 1 ? "It is tried again. What was finished is kept." : `${jobs(n, text)} are tried again.`),
  killed: (n, text) => (n === 1 ? "The job is stopped. What was finished is kept." : `${jobs(n, text)} are stopped.`),
  prioritised: (n, priority) => `${jobs(n)}: priority ${priority}.`,
  refused: (n) => `${n} were refused.`,
  killDialog: {
    title: (n) => (n === 1 ? "Stop this job?" : `Stop ${n} jobs?`),
    text: "It stops at once: running tasks lose their leases. Finished chunks, qualities and texts stay, and a retry goes on from them.",
    reason: "Reason", reasonHelp: "Kept with the job, for whoever asks later.", optional: "optional",
    keep: "Keep it running", act: (n) => (n === 1 ? "Stop the job" : `Stop ${n} jobs`),
  },
  commandsTitle: "From a terminal or a program",
  commandsFor: { show: "Look at it", retry: "Try it again", kill: "Stop it", priority: "Raise its priority" },
  anew: (quality) => `Make ${quality} anew`,
  close: "Close",
};
