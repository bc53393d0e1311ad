import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";

const SCRIPT = join(import.meta.dir, "../../script/comment-benchmarks.ts");
const TOKEN = "ghs_0123456789secret";
const MARKER = "<!-- idk-benchmarks -->";
const BOT = "github-actions[bot]";

interface Comment {
  readonly id: number;
  body: string;
  readonly user: { readonly login: string } | null;
}

/** An imitation of GitHub's API for the comments of pull request 7 of acme/idk. */
class FakeGitHub {
  readonly comments: Comment[] = [];
  readonly requests: string[] = [];
  /** Answers for the next requests of a method, before it works. */
  readonly refusals = new Map<string, { status: number; headers?: Record<string, string> }[]>();
  /** The answer of GET /user; a workflow's token gets a 403. */
  login: string | undefined;
  /** Whether a POST that is answered with a refusal creates the comment all the same. */
  losesAnswers = false;
  readonly #server = Bun.serve({ port: 0, fetch: (request) => this.#answer(request) });
  readonly url = `http://127.0.0.1:${this.#server.port}`;

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const { method } = request;
    this.requests.push(`${method} ${pathname}`);
    if (request.headers.get("authorization") !== `Bearer ${TOKEN}`) {
      return Response.json({ message: "Bad credentials" }, { status: 401 });
    }
    if (pathname === "/user") {
      if (this.login !== undefined) return Response.json({ login: this.login });
      return Response.json({ message: "Resource not accessible" }, { status: 403 });
    }
    const refusal = this.refusals.get(method)?.shift();
    if (refusal === undefined || this.losesAnswers) {
      const found = await this.#change(request, pathname);
      if (refusal === undefined && found !== undefined) return Response.json(found);
    }
    // GitHub may repeat what it was sent.
    const text = { message: `no: ${request.headers.get("authorization")}` };
    if (refusal !== undefined) return Response.json(text, refusal);
    const [page, size] = ["page", "per_page"].map((name) => Number(searchParams.get(name)));
    return Response.json(this.comments.slice((page! - 1) * size!, page! * size!));
  }

  async #change(request: Request, pathname: string): Promise<Comment | undefined> {
    if (request.method === "GET") return undefined;
    const { body } = (await request.json()) as { body: string };
    if (body.length > 65_536) throw new Error("the comment is too long");
    if (request.method === "POST" && pathname === "/repos/acme/idk/issues/7/comments") {
      const comment = { id: this.comments.length + 1, body, user: { login: this.login ?? BOT } };
      this.comments.push(comment);
      return comment;
    }
    const comment = this.comments.find(
      ({ id }) => pathname === `/repos/acme/idk/issues/comments/${id}`,
    );
    if (comment === undefined) throw new Error(`no comment at ${pathname}`);
    return Object.assign(comment, { body });
  }
}

let folder: string;
let github: FakeGitHub;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-comment-"));
  github = new FakeGitHub();
  await Bun.write(join(folder, "event.json"), JSON.stringify({ pull_request: { number: 7 } }));
  await Bun.write(join(folder, "a.md"), "## A\n\n| x |\n");
  await Bun.write(join(folder, "b.md"), "## B\n");
});

afterEach(async () => {
  await github.stop();
  await rm(folder, { recursive: true });
});

async function run(...names: string[]) {
  const child = Bun.spawn(
    [process.execPath, "--no-env-file", SCRIPT, ...names.map((name) => join(folder, name))],
    {
      env: {
        PATH: process.env["PATH"],
        GITHUB_TOKEN: TOKEN,
        GITHUB_API_URL: github.url,
        GITHUB_SERVER_URL: "https://github.example",
        GITHUB_REPOSITORY: "acme/idk",
        GITHUB_RUN_ID: "42",
        GITHUB_EVENT_PATH: join(folder, "event.json"),
        GITHUB_STEP_SUMMARY: join(folder, "summary.md"),
      },
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  const [out, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const summary = await Bun.file(join(folder, "summary.md"))
    .text()
    .catch(() => undefined);
  const all = [out, errors, summary, ...github.comments.map(({ body }) => body)].join("\n");
  expect(all).not.toContain(TOKEN);
  return { out, errors, code, summary };
}

describe("the comment of a pull request", () => {
  test("is created once, and then edited", async () => {
    expect(await run("a.md", "b.md")).toMatchObject({
      code: 0,
      out: "created the comment in #7\n",
    });
    await Bun.write(join(folder, "b.md"), "## B, later\n");
    expect(await run("a.md", "b.md")).toMatchObject({ code: 0, out: "edited the comment in #7\n" });
    expect(github.comments.map(({ body }) => body)).toEqual([
      `${MARKER}\n\n## A\n\n| x |\n\n## B, later\n\nPages with charts are artifacts of [the run](https://github.example/acme/idk/actions/runs/42).`,
    ]);
  });

  test("is found on a later page, and is nobody else's", async () => {
    const others = [{ login: "mallory" }, null, { login: "dependabot[bot]" }];
    for (let id = 1; id <= 230; id++) {
      github.comments.push({ id, body: `${MARKER} not mine`, user: others[id % 3]! });
    }
    github.comments.push({ id: 231, body: `I saw ${MARKER}`, user: { login: BOT } });
    github.comments.push({ id: 232, body: `${MARKER}\n\nold`, user: { login: BOT } });
    expect((await run("a.md")).out).toBe("edited the comment in #7\n");
    expect(github.comments.at(-1)!.body).toContain("## A");
    expect(github.comments.filter(({ body }) => body.includes("## A"))).toHaveLength(1);
    expect(github.comments).toHaveLength(232);
  });

  test("of a person's token is that person's", async () => {
    github.login = "erin";
    github.comments.push({ id: 1, body: `${MARKER} the bot's`, user: { login: BOT } });
    expect((await run("a.md")).out).toBe("created the comment in #7\n");
    expect((await run("a.md")).out).toBe("edited the comment in #7\n");
    expect(github.comments.map(({ user }) => user?.login)).toEqual([BOT, "erin"]);
  });

  test("is cut to GitHub's limit at the end of a line, each file by itself", async () => {
    const row = `| ${"é".repeat(40)} |\n`;
    await Bun.write(join(folder, "a.md"), `<details>\n\n${row.repeat(5000)}\n</details>\n`);
    expect((await run("a.md", "b.md")).code).toBe(0);
    const { body } = github.comments[0]!;
    expect(body.length).toBeLessThanOrEqual(65_536);
    expect(body.length).toBeGreaterThan(30_000);
    expect(body).toContain(
      `${row}\n</details>\n\n_Cut to GitHub's limit: the whole table is an artifact`,
    );
    expect(body).toContain("\n\n## B\n\n");
  });

  test("says which run had no result", async () => {
    expect((await run("comparison.md", "b.md")).code).toBe(0);
    expect(github.comments[0]!.body).toContain("**comparison**: no result, see [the run](https://");
  });

  test.each([403, 404])("that is not allowed (%i) goes to the summary", async (status) => {
    github.refusals.set("POST", [{ status }]);
    const { code, out, summary } = await run("a.md");
    expect(code).toBe(0);
    expect(out).toContain(`HTTP ${status}): the tables are in the job's summary\n`);
    expect(summary).toContain("## A");
    expect(github.comments).toEqual([]);
  });

  test("of a run without a pull request goes to the summary", async () => {
    await Bun.write(join(folder, "event.json"), JSON.stringify({ ref: "refs/heads/main" }));
    expect(await run("a.md")).toMatchObject({ code: 0, summary: expect.stringContaining("## A") });
    expect(github.requests).toEqual([]);
  });

  test("is tried again while GitHub is busy, and is still one", async () => {
    const headers = { "retry-after": "0" };
    github.refusals.set("GET", [
      { status: 502, headers },
      { status: 429, headers },
    ]);
    github.refusals.set("POST", [
      { status: 503, headers },
      { status: 403, headers },
    ]);
    github.losesAnswers = true;
    expect(await run("a.md")).toMatchObject({ code: 0, out: "edited the comment in #7\n" });
    expect(github.comments).toHaveLength(1);
  });

  test("waits as long as GitHub asks for", async () => {
    github.refusals.set("POST", [{ status: 429, headers: { "retry-after": "1" } }]);
    const start = performance.now();
    expect((await run("a.md")).code).toBe(0);
    expect(performance.now() - start).toBeGreaterThan(1000);
  });

  test("fails if GitHub rejects it, or stays busy, and says where the tables are", async () => {
    github.refusals.set("POST", [{ status: 422 }]);
    const rejected = await run("a.md");
    expect(rejected.code).toBe(1);
    expect(rejected.errors).toBe(
      "cannot comment on #7: POST /repos/acme/idk/issues/7/comments: HTTP 422; the tables are at https://github.example/acme/idk/actions/runs/42\n",
    );
    const busy = { status: 500, headers: { "retry-after": "0" } };
    github.refusals.set(
      "GET",
      Array.from({ length: 9 }, () => busy),
    );
    expect((await run("a.md")).code).toBe(1);
    // The user once for each attempt, and the comments.
    expect(github.requests.filter((line) => line.startsWith("GET /repos"))).toHaveLength(1 + 5);
  });
});
