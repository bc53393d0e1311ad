/**
 * Shows benchmark tables in the pull request of the workflow's event, in one comment that each run
 * edits. It is the one that begins with a hidden marker and that this token's own user wrote, so that
 * nobody else's comment is touched. Where comments are not allowed, such as for a pull request from a
 * fork, whose token can only read, the tables go to the job's summary.
 *
 * Usage: bun script/comment-benchmarks.ts FILE.md…
 *
 * A file that does not exist is a run that ended early, which the comment reports. Reads GITHUB_TOKEN,
 * GITHUB_REPOSITORY, GITHUB_EVENT_PATH, GITHUB_RUN_ID, GITHUB_API_URL, GITHUB_SERVER_URL and
 * GITHUB_STEP_SUMMARY. The exit code is 1 if GitHub rejects the comment for any other reason.
 *
 * It needs no packages, so that none runs where the token is.
 *
 * Untried on GitHub: tests/packages/comment-benchmarks.test.ts runs it against an imitation of the API.
 */
import { appendFile, readFile } from "node:fs/promises";
import { basename } from "node:path";

const MARKER = "<!-- idk-benchmarks -->";
/** GitHub's limit for a comment, in characters. */
const LENGTH_MOST = 65_536;
/** For the marker, the link to the run and what closes a cut file. */
const RESERVED = 2_000;
const ATTEMPTS = 5;
/** Seconds; a longer wait is not worth a comment. */
const WAIT_MOST = 60;
const PAGE = 100;

interface Comment {
  readonly id: number;
  readonly body?: string | null;
  readonly user?: { readonly login: string } | null;
}

class Refused extends Error {
  readonly status: number;
  /** Seconds after which another attempt may succeed, or undefined if none will. */
  readonly wait: number | undefined;

  constructor(status: number, message: string, wait?: number) {
    super(message);
    this.status = status;
    this.wait = wait;
  }
}

const { env } = process;
const repository = required("GITHUB_REPOSITORY");
const api = env["GITHUB_API_URL"] || "https://api.github.com";
const run = `${env["GITHUB_SERVER_URL"] || "https://github.com"}/${repository}/actions/runs/${env["GITHUB_RUN_ID"]}`;

const files = process.argv.slice(2);
if (files.length === 0) throw new Error("usage: bun script/comment-benchmarks.ts FILE.md…");
const body = await compose((LENGTH_MOST - RESERVED) / files.length);
const event = JSON.parse(await readFile(required("GITHUB_EVENT_PATH"), "utf8")) as {
  readonly pull_request?: { readonly number: number };
};
const pull = event.pull_request?.number;
if (pull === undefined) await summarize("this run belongs to no pull request");
else await publish(pull);

async function publish(pull: number): Promise<void> {
  // All of it again after an error: a comment that was created although the answer was lost is found.
  for (let attempt = 1; ; attempt++) {
    try {
      const own = await find(pull);
      if (own === undefined) await request("POST", `/issues/${pull}/comments`, { body });
      else await request("PATCH", `/issues/comments/${own}`, { body });
      return console.log(`${own === undefined ? "created" : "edited"} the comment in #${pull}`);
    } catch (error) {
      const { status, wait, message } =
        error instanceof Refused ? error : new Refused(0, describe(error), 2 ** attempt);
      if (wait !== undefined && attempt < ATTEMPTS) {
        await Bun.sleep(Math.min(wait, WAIT_MOST) * 1000);
      } else if (status === 403 || status === 404) {
        return summarize(`comments are not allowed here (${message})`);
      } else {
        console.error(`cannot comment on #${pull}: ${message}; the tables are at ${run}`);
        return process.exit(1);
      }
    }
  }
}

/** The ID of this token's own comment. */
async function find(pull: number): Promise<number | undefined> {
  const login = await whoAmI();
  for (let page = 1; ; page++) {
    const path = `/issues/${pull}/comments?per_page=${PAGE}&page=${page}`;
    const comments = (await request("GET", path)) as readonly Comment[];
    const own = comments.find(
      ({ body, user }) => user?.login === login && body?.startsWith(MARKER),
    );
    if (own !== undefined || comments.length < PAGE) return own?.id;
  }
}

/** A workflow's own token has no user that it could ask for, but a fixed name. */
async function whoAmI(): Promise<string> {
  try {
    return ((await request("GET", `${api}/user`)) as { readonly login: string }).login;
  } catch (error) {
    if (error instanceof Refused && error.status === 403 && error.wait === undefined)
      return "github-actions[bot]";
    throw error;
  }
}

async function request(method: string, path: string, content?: unknown): Promise<unknown> {
  const url = path.startsWith("/") ? `${api}/repos/${repository}${path}` : path;
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${required("GITHUB_TOKEN")}`,
      accept: "application/vnd.github+json",
      "x-github-api-version": "2022-11-28",
      "user-agent": "idk-benchmarks",
    },
    ...(content !== undefined && { body: JSON.stringify(content) }),
    signal: AbortSignal.timeout(30_000),
  });
  const { status, headers } = response;
  if (response.ok) return response.json();
  const retryAfter = headers.get("retry-after");
  // A limit of requests is a 403 or a 429, and says when to come back.
  const temporary = status >= 500 || status === 429 || (status === 403 && retryAfter !== null);
  const wait = temporary ? Number(retryAfter ?? 4) || 0 : undefined;
  throw new Refused(status, `${method} ${new URL(url).pathname}: HTTP ${status}`, wait);
}

/** @param share of each file, in characters */
async function compose(share: number): Promise<string> {
  const parts = files.map(async (file) => {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) return `**${basename(file, ".md")}**: no result, see [the run](${run})`;
    return text.length <= share ? text.trim() : cut(text, share);
  });
  const link = `Pages with charts are artifacts of [the run](${run}).`;
  return [MARKER, ...(await Promise.all(parts)), link].join("\n\n");
}

/** Cuts at the end of a line, and closes what is open there. */
function cut(text: string, length: number): string {
  const kept = text.slice(0, text.lastIndexOf("\n", length));
  const open = kept.split("<details>").length - kept.split("</details>").length;
  const closed = `${kept}\n\n${"</details>\n\n".repeat(Math.max(0, open))}`;
  return `${closed}_Cut to GitHub's limit: the whole table is an artifact of [the run](${run})._`;
}

async function summarize(why: string): Promise<void> {
  const summary = env["GITHUB_STEP_SUMMARY"];
  if (summary) await appendFile(summary, `${body}\n`);
  else console.log(body);
  console.log(`${why}: the tables are in the job's summary`);
}

function required(name: string): string {
  const value = env[name];
  if (!value) throw new Error(`${name} is not set: this runs in a GitHub workflow`);
  return value;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
