/*
 * In a browser, the package's `imports` map replaces native libraries and threads with this module,
 * so that a bundle contains none of them. The importer falls back to portable code, as it does when
 * such a library is not installed.
 */
throw new Error("not available in a browser");
