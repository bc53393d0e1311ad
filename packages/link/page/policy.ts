/**
 * The Content-Security-Policy of the page: only its own scripts and styles, pictures that it made itself,
 * and requests to stores. HTTP is allowed on this machine only. `wasm-unsafe-eval` permits no JavaScript:
 * the checksums of LZ4 frames are computed by WebAssembly. Frames are downloads that the service worker
 * answers.
 */
export const POLICY: string = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src blob: data:",
  "connect-src https: http://127.0.0.1:* http://localhost:*",
  "worker-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** What the server of the page should send with each of its files. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  // Frames of other sites are refused by this header only: a meta element cannot.
  "content-security-policy": `${POLICY}; frame-ancestors 'none'`,
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  // So that a new version of the page is used with its own service worker.
  "cache-control": "no-cache",
};
