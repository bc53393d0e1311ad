/*
 * Stands in a browser for what only Bun and Node can load: the package's `imports` put it in the
 * place of native libraries and threads, so that a bundle holds none of them. Who asked takes the
 * portable way, as where such a library is not installed.
 */
throw new Error("not available in a browser");
