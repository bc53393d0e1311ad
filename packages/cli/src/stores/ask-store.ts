import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { usage } from "../errors/failures.ts";
import { openTerminal } from "../keys/terminal.ts";
import { printable } from "../output/text.ts";
import type { Session } from "../session.ts";

const EXAMPLES = `A store is a folder or a bucket, for example:
  /mnt/disk/store
  s3://BUCKET/PREFIX?region=eu-central-1
  minio://HOST:9000/BUCKET
  b2://BUCKET
`;

/** How often the question is repeated if the answer was not meant. */
const ATTEMPTS = 3;

/**
 * Asks for the folder or URL of a store.
 *
 * @returns the fallback if the answer is empty, and if there is no terminal to ask on
 */
export async function askStore(fallback: string, { signal }: Session): Promise<string> {
  const terminal = openTerminal(signal);
  if (terminal === undefined) return fallback;
  let before = EXAMPLES;
  for (let left = ATTEMPTS; left > 0; left--) {
    const question = `${before}Folder or URL of the store [${printable(fallback)}]: `;
    const answer = (await terminal.ask(question)).trim() || fallback;
    const url = urlOfKind(answer);
    if (url === undefined) return answer;
    const folder = printable(resolve(answer));
    const yes = await terminal.ask(
      `A bucket is ${url}, and ${answer} is the folder ${folder}. Create the folder? [y/N] `,
    );
    if (/^y(?:es)?$/iu.test(yes.trim())) return `./${answer}`;
    before = "";
  }
  throw usage("no store was chosen: name one with --store");
}

/** @throws Failure `usage` if the text would be a new folder with the name of a kind of store */
export function rejectKind(text: string): void {
  const url = urlOfKind(text);
  if (url === undefined) return;
  throw usage(
    `the store ${text} would be a new folder of this name: pass ${url}, or ./${text} for the folder`,
  );
}

const FORMS: ReadonlyMap<string, string> = new Map([
  ["s3", "s3://BUCKET"],
  ["minio", "minio://HOST/BUCKET"],
  ["b2", "b2://BUCKET"],
  ["file", "file:///DIR"],
]);

/** The URL that someone may have meant who names only a kind of store; undefined for a folder. */
function urlOfKind(text: string): string | undefined {
  const form = FORMS.get(text.toLowerCase());
  return form === undefined || existsSync(text) ? undefined : form;
}
