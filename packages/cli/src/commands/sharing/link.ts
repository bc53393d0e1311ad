import { join } from "node:path";
import { resolveAddress } from "../../blobs/address.ts";
import { type Command, command } from "../../command.ts";
import { parsePeriod } from "../../config/times.ts";
import {
  address,
  field,
  flag,
  identitySources,
  newPath,
  optional,
  passphrase,
  store,
  text,
} from "../../config/settings.ts";
import { usage } from "../../errors/failures.ts";
import { loadIdentities } from "../../keys/identities.ts";
import { pageFiles } from "../../link/page-files.ts";
import { writePageFiles } from "../../link/write-page.ts";
import { count } from "../../output/text.ts";
import type { Session } from "../../session.ts";
import { openBackend } from "../../stores/open-store.ts";

export const link: Command = async (invocation, session) =>
  (invocation.options["page"] === undefined ? makeLink : writePage)(invocation, session);

/** What S3 allows. */
const EXPIRES_DEFAULT = 7 * 24 * 60 * 60;

/** Seconds that this machine may be ahead of the store without a note: links are signed by its clock. */
const CLOCK_AHEAD_NOTED = 60;

const makeLink = command(
  {
    address: optional(address),
    store,
    identity: identitySources,
    passphrase,
    expires: optional(field(parseExpiry)),
    pageUrl: optional(text),
    public: optional(text),
    force: flag,
  },
  async ({ address: given, pageUrl: page, public: publicBase, force, ...settings }, session) => {
    const { out, signal } = session;
    if (force) throw usage("--force applies to --page");
    if (given === undefined) throw usage("name the address of the content to share");
    if (page === undefined) {
      throw usage(
        "no page that opens links is set: pass --page-url https://HOST/PATH/, or set page-url in " +
          "the configuration; `idk link --page DIR` writes the page",
      );
    }
    if (publicBase !== undefined && settings.expires !== undefined) {
      throw usage("--expires does not apply with --public: public addresses do not expire");
    }
    const expiresIn = publicBase === undefined ? (settings.expires ?? EXPIRES_DEFAULT) : undefined;
    const identities = await loadIdentities(settings, session);
    await using backend = await openBackend(settings.store, session);
    const [{ createLink }, { createStore }] = await Promise.all([
      import("@idk/link"),
      import("@idk/storage"),
    ]);
    const root = await resolveAddress(createStore({ backend }), given, signal);
    const asked = Date.now() + (expiresIn ?? 0) * 1000;
    const made = await createLink({
      backend,
      address: root,
      identities,
      page,
      expiresIn,
      publicBase,
      signal,
    });
    const { url, listAddress: list, expires, temporary } = made;
    await out.result(url, { url, expires: expires?.toISOString() ?? null, list, temporary });
    await out.flush();
    if (out.json) return;
    await printNotes(made, asked, session);
    const ahead = Math.round((backend.clockAheadMs?.() ?? 0) / 1000);
    if (expires !== undefined && ahead >= CLOCK_AHEAD_NOTED) {
      await out.note(
        `idk: note: this machine's clock is ${ahead} s ahead of the store's, which may refuse the link ` +
          "for that long; set the clock, and make the link again",
      );
    }
  },
);

async function printNotes(
  { listAddress, expires, temporary }: LinkFacts,
  asked: number,
  { out }: Session,
): Promise<void> {
  const until = expires === undefined ? "" : ` until ${secondsOf(expires)}`;
  await out.note(`idk: anyone who has this link can read the content${until}`);
  await out.note(`idk: to revoke it earlier, remove its list: \`idk rm ${listAddress}\``);
  // A second passes while the credentials are found.
  if (expires !== undefined && expires.getTime() < asked - 5000) {
    await out.note(
      "idk: note: the link expires earlier than requested, with the credentials of the store; for a " +
        "longer time use an access key that does not expire",
    );
  } else if (temporary) {
    await out.note(
      "idk: note: the credentials of the store are temporary, and the link ends with them, which may " +
        "be earlier; for a longer time use an access key that does not expire",
    );
  }
}

interface LinkFacts {
  readonly listAddress: string;
  readonly expires: Date | undefined;
  readonly temporary: boolean;
}

/** Without fractions of a second. */
function secondsOf(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/u, "Z");
}

function parseExpiry(given: string): number {
  const seconds = parsePeriod(given);
  if (seconds >= 1 && seconds <= EXPIRES_DEFAULT) return seconds;
  throw new Error("must be a period of at most 7d, because S3 accepts no URL for longer");
}

const writePage = command(
  {
    page: newPath,
    force: flag,
    address: optional(text),
    expires: optional(text),
    public: optional(text),
  },
  async ({ page: folder, force, address: given, expires, public: publicBase }, { out }) => {
    if (given !== undefined || expires !== undefined || publicBase !== undefined) {
      throw usage("--page writes the page and makes no link: pass nothing else but --force");
    }
    const names = await writePageFiles(folder, await pageFiles(), force);
    await out.result(names.map((name) => join(folder, name)).join("\n"), { folder, files: names });
    await out.flush();
    if (out.json) return;
    await out.note(
      `idk: ${count(names.length, "file")}; serve the folder by HTTPS, with the headers in docs/links.md`,
    );
  },
);
