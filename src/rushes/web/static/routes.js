// Every page: its address, its name, and the module that is loaded when somebody goes there. A
// module's default export is a component; it is given {params, query}.

export const routes = [
  { path: "/", name: "library", load: () => import("./pages/library.js") },
  { path: "/upload", name: "upload", load: () => import("./pages/upload.js") },
  { path: "/search", name: "search", load: () => import("./pages/search.js") },
  { path: "/clips", name: "clips", load: () => import("./pages/clips.js") },
  { path: "/v/:id", name: "video", load: () => import("./pages/video.js") },
  { path: "/jobs", name: "jobs", load: () => import("./pages/jobs.js") },
  { path: "/jobs/:id", name: "job", load: () => import("./pages/job.js") },
  { path: "/failed", name: "failed", load: () => import("./pages/failed.js") },
  { path: "/workers", name: "workers", load: () => import("./pages/workers.js") },
  { path: "/system", name: "system", load: () => import("./pages/system.js") },
  { path: "/docs", name: "docs", load: () => import("./pages/docs.js") },
  { path: "/login", name: "login", load: () => import("./pages/login.js") },
];
