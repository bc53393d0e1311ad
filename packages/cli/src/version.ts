/** The same as in package.json; a test holds them together. Reading that file would cost `--version` its speed. */
export const VERSION = "0.1.0";
