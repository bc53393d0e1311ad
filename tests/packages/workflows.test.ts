import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { z } from "zod";

/*
 * Who can change what is published: nobody by moving a tag of an action or an image, and no test,
 * build script or dependency, because none of them runs where the token is.
 */

const root = join(import.meta.dir, "../..");

const Step = z.object({ uses: z.string().optional(), run: z.string().optional() });
const Permissions = z.record(z.string(), z.string()).optional();
const Job = z.object({
  uses: z.string().optional(),
  needs: z.union([z.string(), z.array(z.string())]).optional(),
  environment: z.string().optional(),
  permissions: Permissions,
  steps: z.array(Step).default([]),
});
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
      .flatMap(({ uses, steps }) => steps.concat({ uses }))
      .filter(({ uses = "./" }) => !/^\.\/|@[0-9a-f]{40}$/u.test(uses));
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
    expect(more).toEqual(path.endsWith("publish.yml") ? ["publish: id-token: write"] : []);
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
    expect(image).toMatch(/:[^@:/]+@sha256:[0-9a-f]{64}$/u);
  }
});

describe("publishing", () => {
  const read = async () => Workflow.parse(await yaml(".github/workflows/publish.yml")).jobs;

  test("waits for all tests, then for what was packed", async () => {
    const { test: tests, pack, publish } = await read();
    expect(tests?.uses).toBe("./.github/workflows/ci.yml");
    expect(pack?.needs).toBe("test");
    expect(publish?.needs).toBe("pack");
  });

  test("runs nothing of this repository or its dependencies where the token is", async () => {
    const { publish } = await read();
    expect(publish?.environment).toBe("npm");
    const used = publish!.steps.flatMap(({ uses }) => uses?.replace(/@.*/u, "") ?? []);
    expect(used.toSorted()).toEqual(["actions/download-artifact", "actions/setup-node"]);
    const commands = publish!.steps.map(({ run = "" }) => run).join("\n");
    expect(commands).toContain("sha256sum --check --strict");
    expect(commands).not.toMatch(/\bscript\/|\bbun\b|npm (?:install|ci|exec|run)|npx/u);
    const publishes = commands.match(/npm publish.*/gu) ?? [];
    expect(publishes).toHaveLength(1);
    expect(publishes[0]).toContain("--ignore-scripts");
  });

  test("nothing else has the token or the environment", async () => {
    const { publish: _, ...others } = await read();
    for (const job of Object.values(others)) {
      expect(job.environment).toBeUndefined();
      expect(Object.keys(job.permissions ?? {})).not.toContain("id-token");
    }
  });
});
