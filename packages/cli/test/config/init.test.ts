import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { answering, atTerminal } from "../support/at-terminal.ts";
import {
  checkManners,
  expectFailure,
  isolated,
  MAIN,
  newFolder,
  PASSPHRASE,
  runIdk,
} from "../support/cli.ts";
import { describeMinio, expectNoCredentials } from "../support/minio.ts";
import { writeProtected } from "../support/protected.ts";

const made: string[] = [];
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

/** A new user's home, and what `idk init` creates in it. */
function newHome() {
  const home = newFolder();
  made.push(home);
  // The runtime would create a cache in each home.
  const env = { HOME: home, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" };
  return {
    home,
    env,
    config: join(home, ".config/idk/config.toml"),
    identity: join(home, ".local/share/idk/identity.key"),
    store: join(home, ".local/share/idk/store"),
    idk: (args: readonly string[], more: Record<string, string> = {}) =>
      runIdk(args, { cwd: home, env: { ...env, ...more } }),
  };
}

/** Runs `idk` in a terminal and types one line at each prompt. */
async function type(home: string, typed: readonly string[], ...args: string[]) {
  const { screen, code } = await atTerminal(answering(typed), [process.execPath, MAIN, ...args], {
    cwd: home,
    env: isolated({ HOME: home, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" }),
  });
  checkManners({ stdout: screen, stderr: screen });
  return { screen: screen.replaceAll("\r\n", "\n"), code };
}

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe("idk init", () => {
  test("creates everything that put and get need, without prompts", async () => {
    const { home, config, identity, store, idk } = newHome();
    const { code, stdout, stderr } = await idk(["init", "--no-passphrase", "--store", "attic"]);
    expect(code).toBe(0);
    expect(stdout.replace(/idk1\w+/u, "RECIPIENT")).toBe(`created  identity ${identity}
created  store main: ${home}/attic
created  configuration ${config}
         recipient RECIPIENT
`);
    expect(stderr).toContain(`back up ${identity}`);
    expect([identity, config].map(modeOf)).toEqual([0o600, 0o600]);
    expect([join(identity, ".."), join(config, ".."), join(home, "attic")].map(modeOf)).toEqual([
      0o700, 0o700, 0o700,
    ]);
    expect(existsSync(store)).toBe(false);

    writeFileSync(join(home, "report.txt"), "the report");
    const put = await idk(["put", "report.txt"]);
    expect([put.code, put.stderr]).toEqual([0, ""]);
    expect((await idk(["get", put.stdout.trim()])).stdout).toBe("the report");
  });

  test("leaves no configuration if it cannot be written, and the next run writes one", async () => {
    const { home, config, env, idk } = newHome();
    const init = ["init", "--no-passphrase", "--store", "attic"];
    expect((await idk(init)).code).toBe(0);
    rmSync(config);
    // As on a full disk.
    const child = Bun.spawn(
      ["sh", "-c", 'ulimit -f 0; exec "$0" "$@"', process.execPath, MAIN, ...init],
      { cwd: home, env: isolated(env), stderr: "pipe" },
    );
    expect(await new Response(child.stderr).text()).toContain(`idk: cannot write ${config}`);
    expect(await child.exited).toBe(1);
    expect(readdirSync(join(config, ".."))).toEqual([]);
    expect((await idk(init)).stdout).toContain(`created  configuration ${config}`);
  });

  test("is safe to run again", async () => {
    const { config, identity, store, idk } = newHome();
    const env = { IDK_PASSPHRASE: PASSPHRASE };
    expect((await idk(["init", "--store", store], env)).code).toBe(0);
    const files = [config, identity].map((path) => readFileSync(path));
    for (const args of [[], ["--no-passphrase", "--store", store], ["--store", `${store}/`]]) {
      const again = await idk(["init", ...args], env);
      expect([again.code, again.stdout]).toEqual([
        0,
        `exists  identity ${identity}\nexists  store main: ${store}\nexists  configuration ${config}\n`,
      ]);
      expect(again.stderr).toBe(`idk: nothing was changed; to change settings, edit ${config}\n`);
    }
    expect([config, identity].map((path) => readFileSync(path))).toEqual(files);

    rmSync(identity);
    rmSync(store, { recursive: true });
    const lost = await idk(["init", "--json"], env);
    expect(JSON.parse(lost.stdout)).toEqual({
      config: { path: config, state: "there" },
      identities: [{ name: identity, state: "missing" }],
      store: { name: "main", url: store, state: "missing" },
      recipient: null,
    });
    expect(lost.stderr).toContain("restore it from your backup");
    expect(existsSync(identity)).toBe(false);
  });

  test("adds a store to an existing configuration, and changes nothing else", async () => {
    const { home, config, identity, idk } = newHome();
    expect((await idk(["init", "--no-passphrase", "--store", "first"])).code).toBe(0);
    const before = readFileSync(config, "utf8").trimEnd();
    writeFileSync(config, before);

    expectFailure(
      await idk(["init", "--store", "second"]),
      2,
      "already has another store main: choose a",
    );
    expect([readFileSync(config, "utf8"), existsSync(join(home, "second"))]).toEqual([
      before,
      false,
    ]);

    const { code, stdout, stderr } = await idk(["init", "--store", "second", "--name", "my.own"]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      `exists   identity ${identity}\ncreated  store my.own: ${home}/second\nupdated  configuration ${config}\n`,
    );
    expect(stderr).toBe("idk: next: `idk put FILE --store my.own` stores a file there\n");
    const after = `${before}\n\n[store."my.own"]\nurl = "${home}/second"\n`;
    expect(readFileSync(config, "utf8")).toBe(after);
    writeFileSync(join(home, "report.txt"), "the report");
    const address = (await idk(["put", "report.txt", "--store", "my.own"])).stdout.trim();
    expect((await idk(["ls", "--store", "my.own"])).stdout).toBe(`${address}\n`);
    expect((await idk(["ls"])).stdout).toBe("");

    const again = await idk(["init", "--store", "second"]);
    expect(again.stdout).toContain(`exists  store my.own: ${home}/second\n`);
    expect(readFileSync(config, "utf8")).toBe(after);
  });

  test("does not change a configuration that cannot be extended", async () => {
    const { home, config, idk } = newHome();
    mkdirSync(join(config, ".."), { recursive: true });
    const text = 'store = { work = { url = "/w" } }\n';
    writeFileSync(config, text);
    const result = await idk(["init", "--store", "./more", "--name", "more"]);
    expectFailure(result, 2, `cannot add the store to ${config}: `);
    expect(readFileSync(config, "utf8")).toBe(text);
    expect(existsSync(join(home, "more"))).toBe(false);
  });

  test("writes the key file in a URL as an absolute path", async () => {
    const { home, config, idk } = newHome();
    writeFileSync(join(home, "sse.key"), "0".repeat(64), { mode: 0o600 });
    const url = "s3://bucket?endpoint=https://127.0.0.1:1&region=eu&sse-c-key=";
    expect((await idk(["init", "--no-passphrase", "--store", `${url}sse.key`])).code).toBe(0);
    expect(readFileSync(config, "utf8")).toContain(
      `url = "${url}${encodeURIComponent(`${home}/sse.key`)}"`,
    );
  });

  test("completes an interrupted setup with the existing identity", async () => {
    const { config, identity, idk } = newHome();
    mkdirSync(join(identity, ".."), { recursive: true });
    const env = { IDK_PASSPHRASE: PASSPHRASE };
    const recipient = await writeProtected(identity, PASSPHRASE);
    const wrong = await idk(["init", "--store", "s"], { IDK_PASSPHRASE: "a guess" });
    expectFailure(wrong, 4, "the passphrase does not open");
    expect(existsSync(config)).toBe(false);
    const result = await idk(["init", "--store", "s", "--json"], env);
    expect(JSON.parse(result.stdout)).toMatchObject({
      identities: [{ name: identity, state: "there" }],
      recipient,
      config: { state: "made" },
    });
    expect(readFileSync(config, "utf8")).toContain(`recipients = ["${recipient}"]`);
  });

  test("accepts an unreachable object store, a name, and other paths", async () => {
    const { home, idk } = newHome();
    const url = "s3://bucket/x?endpoint=http://127.0.0.1:1&region=eu";
    const env = { AWS_ACCESS_KEY_ID: "them", AWS_SECRET_ACCESS_KEY: "sesame" };
    const args = ["init", "--store", url, "--name", "work", "-o", "keys/me", "--no-passphrase"];
    const result = await idk([...args, "--config", "c/idk.toml"], env);
    expect(result.code).toBe(0);
    expect(result.stdout).toContain(
      `created    identity ${home}/keys/me\nunchecked  store work: ${url}\n`,
    );
    expect(result.stderr).toContain("warning: the bucket was not created: ");
    expect(result.stderr).toContain(
      "create the bucket with `idk store init`, and test it with `idk store check`",
    );
    expect(result.stdout + result.stderr).not.toContain("sesame");
    const shown = await idk(["config", "--config", "c/idk.toml", "--json"]);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      store: "work",
      stores: [{ name: "work", url }],
    });
  });

  test.each<[args: string[], message: string]>([
    [["--store", "ftp://sesame"], 'the store does not support "ftp:"'],
    [["--store", ""], "the store takes a folder"],
    [["--store", "s", "--name", "a/b"], "--name must be a name"],
    [["--store", "s", "-o", "a", "--keychain", "b"], "-o and --keychain exclude each other"],
    [["--store", "s", "--keychain", "a:b"], "--keychain takes a keychain name"],
    [["--store", "s", "-o", ".."], "it is a folder"],
  ])("init %p creates nothing", async (args, message) => {
    const { config, idk } = newHome();
    expectFailure(await idk(["init", ...args, "--no-passphrase"]), 2, message);
    expect(existsSync(config)).toBe(false);
  });

  test("takes no word that is a kind of store for a new folder", async () => {
    const { home, config, idk } = newHome();
    const args = ["init", "--no-passphrase"];
    for (const [flags, env] of [[["--store", "s3"]], [[], { IDK_STORE: "S3" }]] as const) {
      const refused = await idk([...args, ...flags], env);
      expectFailure(
        refused,
        2,
        /would be a new folder of this name: pass s3:\/\/BUCKET, or \.\/s3 for/iu,
      );
    }
    expect([existsSync(config), existsSync(join(home, "s3"))]).toEqual([false, false]);
    // A folder that exists is meant.
    mkdirSync(join(home, "minio"));
    expect((await idk([...args, "--store", "minio"])).code).toBe(0);
    expect((await idk(["init", "--store", "./s3", "--name", "other"])).code).toBe(0);
    expect(existsSync(join(home, "s3"))).toBe(true);
  });

  test("writes no configuration for an invalid bucket", async () => {
    const { config, idk } = newHome();
    const env = { MINIO_ACCESS_KEY: "them", MINIO_SECRET_KEY: "sesame" };
    const result = await idk(["init", "--no-passphrase", "--store", "minio://127.0.0.1:1/b"], env);
    expectFailure(result, 2, "the bucket's name b is not valid on MinIO");
    expect(existsSync(config)).toBe(false);
  });

  test("says what to do without a terminal and a passphrase", async () => {
    const { home, config, identity } = newHome();
    // A new session has no terminal, even if the tests do.
    const setsid = "import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])";
    const child = Bun.spawn(["python3", "-c", setsid, process.execPath, MAIN, "init"], {
      cwd: home,
      env: isolated({ HOME: home, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const stderr = await new Response(child.stderr).text();
    expect(await child.exited).toBe(2);
    expect(stderr).toMatch(/^idk: there is no terminal.*IDK_PASSPHRASE.*--no-passphrase.*\n$/u);
    expect([config, identity].map(existsSync)).toEqual([false, false]);
  });
});

describe("idk init -i", () => {
  /** A new home with an identity file of another machine in it. */
  async function secondMachine(passphrase?: string) {
    const user = newHome();
    const stick = join(user.home, "stick.key");
    const made =
      passphrase === undefined
        ? (await user.idk(["keygen", "-o", stick])).stdout.trim()
        : await writeProtected(stick, passphrase);
    return { ...user, stick, recipient: made };
  }

  test("copies an identity, which reads what the first machine stored", async () => {
    const first = newHome();
    expect((await first.idk(["init", "--no-passphrase", "--store", "attic"])).code).toBe(0);
    writeFileSync(join(first.home, "report.txt"), "the report");
    const address = (await first.idk(["put", "report.txt"])).stdout.trim();

    const { home, config, identity, idk } = newHome();
    writeFileSync(join(home, "stick.key"), readFileSync(first.identity), { mode: 0o644 });
    const args = ["init", "-i", "stick.key", "--store", join(first.home, "attic")];
    const { code, stdout, stderr } = await idk(args);
    expect(code).toBe(0);
    expect(stdout).toStartWith(
      `copied   identity ${identity}\nexists   store main: ${first.home}/attic\ncreated  configuration`,
    );
    expect(stderr).toContain("other users of this machine can read the identity file stick.key");
    expect(stderr).toContain("idk: stick.key was copied: keep it as a backup, or delete it\n");
    expect(stderr).not.toContain("back up");
    expect(readFileSync(identity)).toEqual(readFileSync(first.identity));
    expect(modeOf(identity)).toBe(0o600);
    expect(readFileSync(config, "utf8")).toContain(`identity = "${identity}"`);
    rmSync(join(home, "stick.key"));
    expect((await idk(["get", address])).stdout).toBe("the report");
  });

  test("takes the identity from standard input, and keeps it protected", async () => {
    const { home, identity, recipient, stick, idk } = await secondMachine(PASSPHRASE);
    const args = ["init", "-i", "-", "--store", "s", "--json"];
    const stdin = readFileSync(stick);
    const run = (passphrase: string) =>
      runIdk(args, {
        cwd: home,
        env: { HOME: home, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0", IDK_PASSPHRASE: passphrase },
        stdin,
      });
    expect((await run("a guess")).code).toBe(4);
    expect(existsSync(identity)).toBe(false);
    const result = await run(PASSPHRASE);
    expect(JSON.parse(result.stdout)).toMatchObject({
      identities: [{ name: identity, state: "copied" }],
      recipient,
    });
    expect(readFileSync(identity)).toEqual(stdin);
    expect(result.stderr).not.toContain("was copied");
    expect((await idk(["recipient"], { IDK_PASSPHRASE: PASSPHRASE })).stdout).toBe(
      `${recipient}\n`,
    );
  });

  test("prompts for the passphrase, and checks it", async () => {
    const { home, identity, stick, config } = await secondMachine(PASSPHRASE);
    const init = ["init", "-i", "stick.key", "--store", "s"];
    const wrong = await type(home, ["wrong\r"], ...init);
    expect(wrong.screen).toContain("identity file stick.key: the passphrase does not open");
    expect([wrong.code, existsSync(identity), existsSync(config)]).toEqual([4, false, false]);
    const right = await type(home, [`${PASSPHRASE}\r`], ...init);
    expect(right.screen).toStartWith("Passphrase for stick.key: \ncopied   identity ");
    expect([right.code, readFileSync(identity)]).toEqual([0, readFileSync(stick)]);
  });

  test("overwrites nothing, and completes an interrupted setup", async () => {
    const { home, config, identity, stick, idk } = await secondMachine();
    mkdirSync(join(identity, ".."), { recursive: true });
    writeFileSync(identity, "another identity", { mode: 0o600 });
    const init = ["init", "-i", "stick.key", "--store", "s"];
    expectFailure(
      await idk(init),
      2,
      `${identity} already exists and is not the identity file stick.key: name another file with -o`,
    );
    expect([readFileSync(identity, "utf8"), existsSync(config)]).toEqual([
      "another identity",
      false,
    ]);

    writeFileSync(identity, readFileSync(stick));
    expect((await idk(init)).stdout).toStartWith(`exists   identity ${identity}\n`);
    const before = readFileSync(config, "utf8");
    expectFailure(
      await idk(init),
      2,
      `${config} already exists, and -i is for a new configuration`,
    );
    expect(readFileSync(config, "utf8")).toBe(before);

    const other = [...init, "-o", "keys/me", "--config", "other.toml"];
    expect((await idk(other)).stdout).toStartWith(`copied   identity ${home}/keys/me\n`);
    expect(modeOf(join(home, "keys/me"))).toBe(0o600);
    const inPlace = ["init", "-i", stick, "-o", "stick.key", "--store", "s", "--config", "3.toml"];
    expect((await idk(inPlace)).stdout).toStartWith(`exists   identity ${stick}\n`);
  });

  test.each<[args: string[], code: number, message: string]>([
    [["-i", "missing.key"], 2, "cannot read the identity file missing.key: no such file"],
    [["-i", "note.txt"], 2, "identity file note.txt: line 1: this is not an identity"],
    [["-i", "-"], 2, "identity on standard input: the file holds no identity"],
    [["-i", ""], 2, "-i takes a file, got an empty string"],
    [["-i", `IDK-SECRET-KEY-1${"Q".repeat(58)}`], 2, "-i takes a file, not the identity itself"],
    [["-i", "keychain:a:b"], 2, "-i takes a keychain name"],
    [["-i", "stick.key", "--keychain", "me"], 2, "-i and --keychain exclude each other"],
    [["-i", "stick.key", "--no-passphrase"], 2, "--no-passphrase is for a new identity"],
    [["-i", "keychain:me", "-o", "me.key"], 2, "an identity in the keychain stays there"],
  ])("init %p creates nothing", async (args, code, message) => {
    const { home, config, identity, idk } = await secondMachine();
    writeFileSync(join(home, "note.txt"), "hello\n", { mode: 0o600 });
    expectFailure(await idk(["init", "--store", "s", ...args]), code, message);
    expect([config, identity, join(home, "s")].map(existsSync)).toEqual([false, false, false]);
  });
});

await describeMinio("idk init, with MinIO", (minio) => {
  const { env } = minio;

  test("creates the bucket, so that put works", async () => {
    const { home, config, idk } = newHome();
    const bucket = minio.newBucketName();
    const url = minio.url(bucket, "/mine");
    const result = await idk(["init", "--no-passphrase", "--store", url], env);
    expect(result.stdout).toContain(`created  store main: ${url}\n`);
    expect(result.stderr).not.toContain("store init");
    writeFileSync(join(home, "report.txt"), "the report");
    const { stdout } = await idk(["put", "report.txt"], env);
    expect(await minio.listKeys(bucket)).toEqual([`mine/${stdout.trim()}`]);

    rmSync(config);
    const again = await idk(["init", "--store", url], env);
    expect(again.stdout).toContain(`exists   store main: ${url}\n`);
    expectNoCredentials(again, env);
  });

  test("sets up a store whose credentials cannot create buckets", async () => {
    const { config, idk } = newHome();
    const bucket = minio.newBucketName();
    const own = await minio.assumeRole(
      JSON.stringify({
        Version: "2012-10-17",
        Statement: [
          { Effect: "Allow", Action: ["s3:PutObject"], Resource: [`arn:aws:s3:::${bucket}/*`] },
        ],
      }),
    );
    const args = ["init", "--no-passphrase", "--store", minio.url(bucket)];
    const result = await idk(args, own);
    expect([result.code, existsSync(config)]).toEqual([0, true]);
    expect(result.stderr).toContain("warning: the bucket was not created: ");
    expectNoCredentials(result, own);
  });
});

describe("idk init at a terminal", () => {
  test("prompts for the location, and twice for a passphrase without echo", async () => {
    const { home, config, identity, store } = newHome();
    const typed = ["\r", `${PASSPHRASE}\r`, `${PASSPHRASE}\r`];
    const { screen, code } = await type(home, typed, "init");
    expect(screen).toStartWith(
      "A store is a folder or a bucket, for example:\n  /mnt/disk/store\n  s3://BUCKET/PREFIX?region=eu-central-1\n",
    );
    expect(screen).toContain(
      `  b2://BUCKET\nFolder or URL of the store [${store}]: \nidk: creating a new identity; to use the one of another machine, press Ctrl-C and run \`idk init -i KEY\`\nNew passphrase: \nRepeat the passphrase: \ncreated  identity`,
    );
    expect(screen).toContain("remember its passphrase");
    expect(code).toBe(0);
    expect([config, identity, store].map(existsSync)).toEqual([true, true, true]);
    expect(statSync(identity).size).toBe(102);
  });

  test("accepts an edited path below the home folder", async () => {
    const { home, config } = newHome();
    const typed = ["~/blops\u007f\u007fbs\r"];
    const { code } = await type(home, typed, "init", "--no-passphrase");
    expect(code).toBe(0);
    expect(readFileSync(config, "utf8")).toContain(`url = "${home}/blobs"\n`);
  });

  test.each<[typed: string[], message: string, code: number]>([
    [
      ["\r", ...Array(3).fill(["one\r", "two\r"]).flat()],
      "idk: the two passphrases differed 3 times: run the command again",
      2,
    ],
    [["\r", "\r"], "idk: the passphrase is empty: pass --no-passphrase to use none", 2],
    [["ab\u0003"], "idk: interrupted", 130],
    [["\u0004"], "idk: the terminal was closed before an answer was given", 2],
    [["\r", "one\u0003"], "idk: interrupted", 130],
    [["ftp://x\r"], "idk: the store does not support", 2],
  ])("typing %p creates neither identity nor configuration", async (typed, message, code) => {
    const { home, config, identity } = newHome();
    const result = await type(home, typed, "init");
    expect(result.screen).toContain(message);
    expect(result.code).toBe(code);
    expect([config, identity].map(existsSync)).toEqual([false, false]);
  });

  test("asks again after passphrases that differ", async () => {
    const { home, config, identity } = newHome();
    const typed = ["\r", "one\r", "two\r", `${PASSPHRASE}\r`, `${PASSPHRASE}\r`];
    const { screen, code } = await type(home, typed, "init");
    expect(screen).toContain("The two passphrases differ. New passphrase: \nRepeat");
    expect([code, existsSync(config), statSync(identity).size]).toEqual([0, true, 102]);
  });

  test("asks before a word that is a kind of store becomes a folder", async () => {
    const { home, config } = newHome();
    const question = String.raw`\[y/N\] \Z`;
    const prompt = String.raw`: \Z`;
    const steps = [
      { shown: prompt, type: "s3\r" },
      { shown: question, type: "\r" },
      { shown: prompt, type: "b2\r" },
      { shown: question, type: "y\r" },
    ];
    const args = [process.execPath, MAIN, "init", "--no-passphrase"];
    const env = isolated({ HOME: home, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" });
    const { screen, code } = await atTerminal(steps, args, { cwd: home, env });
    expect(screen).toContain(
      `A bucket is s3://BUCKET, and s3 is the folder ${home}/s3. Create the folder? [y/N] `,
    );
    expect(code).toBe(0);
    expect(readFileSync(config, "utf8")).toContain(`url = "${home}/b2"\n`);
    expect([existsSync(join(home, "s3")), existsSync(join(home, "b2"))]).toEqual([false, true]);
  });

  test("prompts for two protected identities in turn", async () => {
    const { home } = newHome();
    const recipients: string[] = [];
    for (const name of ["a.key", "b.key"]) {
      recipients.push(`${await writeProtected(join(home, name), `${PASSPHRASE} ${name}`)}\n`);
    }
    const typed = [`${PASSPHRASE} a.key\r`, `${PASSPHRASE} b.key\r`];
    const { screen } = await type(home, typed, "recipient", "-i", "a.key", "-i", "b.key");
    expect(screen).toBe(`Passphrase for a.key: \nPassphrase for b.key: \n${recipients.join("")}`);
  });
});
