export default {
  queued: "Queued", running: "Running", completed: "Completed", failed: "Failed", killed: "Killed",
  pending: "Queued", processing: "Processing", ready: "Ready", warning: "Warning",
  new: "New", done: "Done", error: "Error", skipped: "Skipped", in_progress: "In progress",
  active: "Active", idle: "Idle", busy: "Busy", draining: "Draining", offline: "Offline", disabled: "Disabled",
  warnings: (n) => `Completed with ${n} ${n === 1 ? "error" : "errors"}`,
};
