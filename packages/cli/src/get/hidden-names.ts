import { foldedName } from "./safe-name.ts";

/**
 * Names, folded, that a program obeys because it is started in their folder, without being asked to
 * open them, and that can make it run code. Files that run only on request, such as a Makefile, are
 * not among them.
 */
const OBEYED: ReadonlySet<string> = new Set([
  // JavaScript: preloaded modules, paths of modules, scripts that run at installation, packages.
  "bunfig.toml",
  "deno.json",
  "deno.jsonc",
  "jsconfig.json",
  "node_modules",
  "package.json",
  "tsconfig.json",
  // A folder with this file, objects and refs is a bare repository, whose configuration git obeys.
  "head",
  // Other tools that read settings in the current folder.
  "ansible.cfg",
  "mise.toml",
  "php.ini",
  "rust-toolchain",
  "rust-toolchain.toml",
  "uv.toml",
  // Windows: opening the folder is enough.
  "autorun.inf",
  "desktop.ini",
]);

/** What Windows may also call a file of a longer name: `git~1` is `.git`, `packag~1.jso` package.json. */
const SHORT = /^[^.]{1,6}~\d{1,2}(?:\.[^.]{1,3})?$/u;

/**
 * Whether a file or folder of this name is hidden, or obeyed by tools. In a folder that is in use,
 * content from someone else must not get such a name.
 *
 * @param name a safe name
 */
export function isHiddenName(name: string): boolean {
  // Some file systems ignore invisible characters and the difference of upper and lower case.
  const folded = foldedName(name);
  return folded.startsWith(".") || OBEYED.has(folded) || SHORT.test(folded);
}
