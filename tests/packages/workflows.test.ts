import { describe, expect, test } from "bun:test";
import { ARCHIVES } from "../../script/release-files.ts";
import { PLATFORMS } from "../../script/release.ts";
import { basename, join } from "node:path";
import { z } from "zod";

/*
 * Who can change what is published: nobody by moving a tag of an action or an image, and no test,
 * build script or dependency, because none of them runs where a token or a key is. What the steps of a
 * release do is in release-workflow.test.ts.
 */

const root = join(import.meta.dir, "../..");

const Step = z.object({
  uses: z.string().optional(),
  run: z.string().optional(),
  if: z.string().optional(),
  with: z.record(z.string(), z.unknown()).default({}),
  env: z.record(z.string(), z.string()).default({}),
});
const Names = z.record(z.string(), z.string()).default({});
const Permissions = z.record(z.string(), z.string()).optional();
const Job = z.object({
  uses: z.string().optional(),
  if: z.string().optional(),
  needs: z.union([z.string(), z.array(z.string())]).optional(),
  environment: z.string().optional(),
  permissions: Permissions,
  env: Names,
  container: z.unknown().optional(),
  services: z.unknown().optional(),
  strategy: z
    .object({
      matrix: z.object({
        include: z.array(Names).optional(),
        lane: z.array(z.string()).optional(),
      }),
    })
    .optional(),
  steps: z.array(Step).default([]),
});
const IMAGE = /^[\w./-]+:[^@:/]+@sha256:[0-9a-f]{64}$/u;

/** The actions of jobs with a token or a key. */
const ALLOWED = new Set([
  "actions/attest-build-provenance",
  "actions/download-artifact",
  "actions/setup-node",
]);

/** What the jobs of a workflow may do beyond reading the repository. */
const RIGHTS: Readonly<Record<string, readonly string[]>> = {
  "ci.yml": ["comment: pull-requests: write"],
  "release.yml": [
    "publish: id-token: write",
    "release: contents: write",
    "release: id-token: write",
    "release: attestations: write",
  ],
};

const Workflow = z.object({
  permissions: Permissions,
  jobs: z.record(z.string(), Job),
});

async function yaml(path: string): Promise<unknown> {
  return Bun.YAML.parse(await Bun.file(join(root, path)).text());
}

const workflows = [...new Bun.Glob(".github/workflows/*.yml").scanSync({ cwd: root, dot: true })];

describe.each(workflows)("%s", (path) => {
  test("uses actions by commit", async () => {
    const { jobs } = Workflow.parse(await yaml(path));
    const byName = Object.values(jobs)
      .flatMap(({ uses, steps }) => steps.map((step) => step.uses).concat(uses))
      .filter((uses = "./") => !/^\.\/|@[0-9a-f]{40}$/u.test(uses));
    expect(byName).toEqual([]);
  });

  test("can read the repository, and nothing else unless a job says so", async () => {
    const { permissions, jobs } = Workflow.parse(await yaml(path));
    expect(permissions).toEqual({ contents: "read" });
    const more = Object.entries(jobs).flatMap(([name, job]) =>
      Object.entries(job.permissions ?? {})
        .filter(([scope, access]) => !(scope === "contents" && access === "read"))
        .map(([scope, access]) => `${name}: ${scope}: ${access}`),
    );
    expect(more).toEqual([...(RIGHTS[basename(path)] ?? [])]);
  });

  test("runs images by digest", async () => {
    const { jobs } = Workflow.parse(await yaml(path));
    for (const { env, container, services, steps } of Object.values(jobs)) {
      expect([container, services]).toEqual([undefined, undefined]);
      const commands = steps.map(({ run = "" }) => run.replaceAll("\\\n", " ")).join("\n");
      const uses = commands.match(/\bdocker (?:run|pull|create)\b.*/gu) ?? [];
      for (const use of uses) expect(use).toContain(' "$IMAGE" ');
      if (uses.length > 0) expect(env["IMAGE"]).toMatch(IMAGE);
    }
  });

  test("has secrets only where a release is signed or the formula is pushed", async () => {
    const text = await Bun.file(join(root, path)).text();
    const secrets = text.match(/secrets[.[][\w'"]*/gu) ?? [];
    expect(secrets).toEqual(
      path.endsWith("/release.yml")
        ? ["secrets.RELEASE_SIGNING_KEY", "secrets.HOMEBREW_TAP_KEY"]
        : [],
    );
    expect(text).not.toContain("pull_request_target");
  });
});

test("actions of our own use actions by commit", async () => {
  const Action = z.object({ runs: z.object({ steps: z.array(Step) }) });
  for (const path of new Bun.Glob(".github/actions/*/action.yml").scanSync({
    cwd: root,
    dot: true,
  })) {
    const { runs } = Action.parse(await yaml(path));
    for (const { uses = "./" } of runs.steps) expect(uses).toMatch(/^\.\/|@[0-9a-f]{40}$/u);
  }
});

test("images are named by digest", async () => {
  const Compose = z.object({ services: z.record(z.string(), z.object({ image: z.string() })) });
  const { services } = Compose.parse(await yaml("docker-compose.yml"));
  for (const { image } of Object.values(services)) {
    expect(image).toMatch(IMAGE);
  }
});

test("names the version of each action beside its commit, and one version of each", async () => {
  const found = new Map<string, Set<string>>();
  for (const path of new Bun.Glob(".github/**/*.yml").scanSync({ cwd: root, dot: true })) {
    const text = await Bun.file(join(root, path)).text();
    for (const line of text.match(/uses: [^.].*/gu) ?? []) {
      const [, action, pinned] = /^uses: ([\w/-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)$/u.exec(
        line,
      ) ?? [line];
      found.set(String(action), (found.get(String(action)) ?? new Set()).add(String(pinned)));
    }
  }
  expect(found.size).toBe(7);
  for (const [action, versions] of found) expect([action, ...versions]).toHaveLength(2);
  expect([...found.values()].map((versions) => [...versions][0])).not.toContain("undefined");
});

describe("a pull request", () => {
  const jobsOf = async (name: string) =>
    Workflow.parse(await yaml(`.github/workflows/${name}.yml`)).jobs;

  test("needs one check, which needs every lane and the comparison", async () => {
    const { passed, comment, ...others } = await jobsOf("ci");
    expect(passed).toMatchObject({ if: "always()", needs: Object.keys(others) });
    expect(Object.keys(others)).toEqual(["lanes", "compare"]);
    const [step] = passed!.steps;
    // As the shell judges the results of a pull request and of a push.
    const outcome = (lanes: string, compare: string, expected: string): number | null =>
      Bun.spawnSync(["bash", "-c", step!.run!], {
        env: { LANES: lanes, COMPARE: compare, EXPECTED: expected },
      }).exitCode;
    expect(outcome("success", "success", "success")).toBe(0);
    expect(outcome("success", "skipped", "skipped")).toBe(0);
    expect(outcome("success", "skipped", "success")).not.toBe(0);
    expect(outcome("failure", "success", "success")).not.toBe(0);
    expect(outcome("cancelled", "success", "success")).not.toBe(0);
    expect(comment!.needs).toEqual(Object.keys(others));
  });

  test("runs every lane, and compares their reports with the test files", async () => {
    const { lane, complete } = await jobsOf("lanes");
    const script = await Bun.file(join(root, "script/lib/lanes.sh")).text();
    const [, lanes = ""] = /^LANES=\((.*)\)$/mu.exec(script)!;
    expect(lane!.strategy?.matrix.lane).toEqual(lanes.split(" "));
    expect(complete!.needs).toBe("lane");
    expect(complete!.steps.at(-1)?.run).toContain(
      "bun script/totals.ts --complete reports/*/*.xml",
    );
  });

  test("is commented on by the base's own script, which alone has the token", async () => {
    const { steps, if: condition } = (await jobsOf("ci"))["comment"]!;
    expect(condition).toContain("github.event_name == 'pull_request'");
    const checkouts = steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"));
    expect(checkouts.map((step) => step.with)).toEqual([
      { ref: "${{ github.event.pull_request.base.sha }}", "persist-credentials": false },
    ]);
    const armed = steps.filter(({ env }) => Object.keys(env).length > 0);
    expect(armed.map(({ run, env }) => [run, env])).toEqual([
      [
        expect.stringMatching(/^bun --no-env-file --no-install script\/comment-benchmarks\.ts /u),
        { GITHUB_TOKEN: "${{ github.token }}" },
      ],
    ]);
    // No action of the repository, and no package.
    const commands = steps.map(({ run = "", uses = "" }) => `${run}\n${uses}`).join("\n");
    expect(commands).not.toMatch(/\.\/|ensure_packages|bun (?:install|run)|npm/u);
  });

  test("sees the tables of the run that judged: in the comment, the summary and the artifact", async () => {
    const { lane } = await jobsOf("lanes");
    const { comment } = await jobsOf("ci");
    const upload = lane!.steps.find(({ uses }) => uses?.startsWith("actions/upload-artifact@"));
    expect(upload?.with).toMatchObject({
      name: "reports-${{ matrix.lane }}",
      path: ".cache/reports",
    });
    const commands = lane!.steps.map(({ run = "" }) => run).join("\n");
    expect(commands).toContain('cat .cache/reports/benchmarks.md >>"$GITHUB_STEP_SUMMARY"');
    expect(commands.match(/idk bench|nightly-benchmarks/gu)).toBeNull();
    const downloads = comment!.steps.filter(({ uses }) =>
      uses?.startsWith("actions/download-artifact@"),
    );
    expect(downloads.map((step) => step.with["name"])).toEqual([
      "comparison",
      "reports-acceptance",
    ]);
    expect(comment!.steps.at(-1)?.run).toContain(
      "tables/comparison/comparison.md tables/acceptance/benchmarks.md",
    );
  });
});

describe("a release", () => {
  const read = async (name: string) =>
    Workflow.parse(await yaml(`.github/workflows/${name}.yml`)).jobs;

  /** The jobs that can change something outside of the workflow. */
  const armed = async () => {
    const jobs = Object.entries(await read("release"));
    return jobs.filter(([, { environment, permissions }]) => {
      return environment !== undefined || Object.values(permissions ?? {}).includes("write");
    });
  };

  test("publishes after all tests, and after every platform was tried", async () => {
    const jobs = await read("release");
    const needed = (name: string): string[] =>
      [jobs[name]?.needs ?? []].flat().flatMap((before) => [before].concat(needed(before)));
    expect(jobs["test"]?.uses).toBe("./.github/workflows/lanes.yml");
    expect(jobs["platforms"]?.uses).toBe("./.github/workflows/platforms.yml");
    const names = (await armed()).map(([name]) => name);
    expect(names).toEqual(["publish", "release", "homebrew"]);
    for (const name of names) {
      expect(needed(name)).toEqual(expect.arrayContaining(["test", "platforms"]));
    }
    // What cannot be undone comes last.
    expect(needed("publish")).toContain("release");
  });

  test("runs nothing of this repository or its dependencies where a token or a key is", async () => {
    const jobs = await armed();
    const environments = jobs.map(([, { environment }]) => environment);
    expect(environments).toEqual(["npm", "release", "homebrew"]);
    for (const [, { steps }] of jobs) {
      const used = steps.flatMap(({ uses }) => uses?.replace(/@.*/u, "") ?? []);
      expect(used.filter((name) => !ALLOWED.has(name))).toEqual([]);
      const commands = steps.map(({ run = "" }) => run).join("\n");
      expect(commands).toContain("sha256sum --check --strict");
      expect(commands).not.toMatch(
        /\bscript\/|\bbun\b|npm (?:install|ci|exec|run)|npx|\bsh install|\.\/idk/u,
      );
      for (const publish of commands.match(/npm publish.*/gu) ?? []) {
        expect(publish).toContain("--ignore-scripts --provenance");
      }
    }
  });

  test("tries each platform that it has a binary for, and its packages on each", async () => {
    const { try: native, musl } = await read("platforms");
    const platforms = [
      ...native!.strategy!.matrix.include!.map(({ platform }) => platform!),
      ...musl!.strategy!.matrix.include!.map(({ platform }) => `${platform}-musl`),
    ];
    expect(platforms.toSorted()).toEqual([...ARCHIVES.keys()].toSorted());
    expect([...PLATFORMS.keys()].toSorted()).toEqual([...ARCHIVES.keys()].toSorted());
    for (const { steps } of [native!, musl!]) {
      const commands = steps.map(({ run = "" }) => run).join("\n");
      expect(commands).toMatch(/script\/smoke unpacked\/idk-/u);
      expect(commands).toMatch(
        /npm install --global \.\/artifacts\/packages\/idk-cli-.*\n.*script\/smoke idk/u,
      );
    }
  });

  test("is rehearsed every night", async () => {
    expect((await read("nightly"))["platforms"]?.uses).toBe("./.github/workflows/platforms.yml");
  });
});
