import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import {
  type Contents,
  type Files,
  makeArchives,
  makeKey,
  sign,
  signerOf,
  sumsOf,
} from "./release.ts";
import { randomBytes } from "node:crypto";
import { connect, createServer, type Server } from "node:net";
import { smallDisk, smallDiskMissing } from "../servers/small-disk.ts";
import { installer } from "../../script/release-files.ts";
import { join } from "node:path";
import { makeCertificate } from "../servers/certificate.ts";
import { root } from "./projects.ts";
import { skipIfMissing } from "../servers/require-server.ts";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";

/*
 * packaging/install.sh as a release has it, against a local HTTPS server with stand-in archives and a
 * key of this test. Nothing in the script can be pointed elsewhere: the address and the key are filled
 * in by the same function that makes the installer of a release.
 */

setDefaultTimeout(60_000);

const VERSION = "1.2.3";
const OLDER = "1.1.0";

/** All that the installer may call. */
const TOOLS =
  "sh awk cat chmod cut dirname getconf grep gzip head ldd mkdir mktemp mv rm rmdir sed sha256sum ssh-keygen tail tar tr uname curl wget".split(
    " ",
  );

let folder: string;
let script: string;
let key: string;
let server: Bun.Server<undefined>;
let insecure: Bun.Server<undefined>;
let releases: string;
let archives: Files;
let signature: string;

/** What is served below /releases/download/, by path, and the paths asked for. */
const served = new Map<string, Uint8Array | string | Response>();
const asked: string[] = [];
let askedInsecurely = 0;

const linux = process.platform === "linux" && process.arch === "x64";
const shells = ["dash", "bash", "busybox", "zsh"].filter((name) => Bun.which(name) !== null);
const missing = ["curl", "wget", "openssl", "ssh-keygen"].filter(
  (name) => Bun.which(name) === null,
);
if (!linux) missing.push("Linux on x64");

/** Serves a release, whose checksums are signed by `key`. */
function publish(version: string, files: Files, sums: string, signed: string): void {
  const all = new Map([...files, ["SHA256SUMS", sums], ["SHA256SUMS.sig", signed]]);
  for (const [name, content] of all) served.set(`v${version}/${name}`, content);
}

/** Makes and serves a release for this platform with other contents. */
async function publishWith(version: string, contents: Contents): Promise<void> {
  const at = await mkdtemp(join(folder, "release-"));
  const files = await makeArchives(at, version, { platforms: ["linux-x64"], ...contents });
  const sums = sumsOf(files);
  publish(version, files, sums, await sign(folder, key, sums));
}

function answer(request: Request): Response {
  const { pathname } = new URL(request.url);
  asked.push(pathname);
  // As GitHub does, from the release to where its files are.
  const redirect = /^\/releases\/download\/(.*)$/u.exec(pathname);
  if (redirect !== null) {
    const content = served.get(redirect[1]!);
    if (content instanceof Response) return content.clone();
    return new Response(null, {
      status: 302,
      headers: { location: `${server.url}files/${redirect[1]}` },
    });
  }
  const content = served.get(pathname.replace(/^\/files\//u, ""));
  if (content === undefined || content instanceof Response)
    return new Response("no", { status: 404 });
  return new Response(content as BodyInit);
}

/** Makes a folder for the PATH with the tools, except some, and with scripts in place of others. */
async function toolbox(
  omit: readonly string[] = [],
  scripts: Readonly<Record<string, string>> = {},
): Promise<string> {
  const at = await mkdtemp(join(folder, "tools-"));
  const all: Record<string, string> = {
    // Notes that an archive is unpacked.
    tar: `echo unpacked >>"$MARKS"; exec ${Bun.which("tar")} "$@"`,
    ...scripts,
  };
  for (const name of TOOLS) {
    const path = Bun.which(name);
    if (!omit.includes(name) && !(name in all) && path !== null)
      await symlink(path, join(at, name));
  }
  for (const [name, text] of Object.entries(all)) {
    await writeFile(join(at, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(at, name), 0o755);
  }
  return at;
}

interface Options {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly tools?: string;
  readonly shell?: readonly string[];
  readonly home?: string;
}

interface Outcome {
  readonly code: number;
  readonly output: string;
  readonly home: string;
  /** What was unpacked and run. */
  readonly marks: string;
}

let tools: string;

async function newHome(): Promise<string> {
  return mkdtemp(join(folder, "home-"));
}

function environment(home: string, path: string): Record<string, string> {
  return {
    PATH: path,
    HOME: home,
    TMPDIR: join(folder, "tmp"),
    MARKS: `${home}.marks`,
    CURL_CA_BUNDLE: join(folder, "public.crt"),
    WGETRC: join(folder, "wgetrc"),
  };
}

async function install({
  args = [],
  env = {},
  shell = ["sh"],
  ...options
}: Options = {}): Promise<Outcome> {
  const home = options.home ?? (await newHome());
  const path = options.tools ?? tools;
  await rm(`${home}.marks`, { force: true });
  const child = Bun.spawn([Bun.which(shell[0]!)!, ...shell.slice(1), script, ...args], {
    cwd: home,
    env: { ...environment(home, path), ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const marks = Bun.file(`${home}.marks`);
  return {
    code: await child.exited,
    output: stdout + stderr,
    home,
    marks: (await marks.exists()) ? await marks.text() : "",
  };
}

/** The files and folders below a folder, with the contents of short files. */
async function snapshot(at: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const glob = new Bun.Glob("**/*");
  for await (const path of glob.scan({
    cwd: at,
    dot: true,
    onlyFiles: false,
    followSymlinks: false,
  })) {
    const info = await stat(join(at, path)).catch(() => undefined);
    found[path] = info?.isFile() ? await readFile(join(at, path), "utf8") : "";
  }
  return found;
}

/** Expects an installation to fail with a message, and to leave the home as it was. */
async function expectRefusal(options: Options, message: RegExp): Promise<Outcome> {
  const home = options.home ?? (await newHome());
  const before = await snapshot(home);
  const outcome = await install({ ...options, home });
  expect({ ...outcome, ok: outcome.code !== 0 }).toMatchObject({
    ok: true,
    output: expect.stringMatching(message),
  });
  expect(outcome.output).toContain("install idk: ");
  // eslint-disable-next-line no-control-regex -- a terminal would obey these
  expect(outcome.output).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F]/u);
  expect(await snapshot(home)).toEqual(before);
  expect(await snapshot(join(folder, "tmp"))).toEqual({});
  return outcome;
}

/** The same, and neither unpacks nor runs anything. */
async function expectDistrust(options: Options, message: RegExp): Promise<void> {
  const { marks } = await expectRefusal(options, message);
  expect(marks).toBe("");
}

const INSTALLED = [
  ".local/bin/idk",
  ".local/share/bash-completion/completions/idk",
  ".local/share/fish/vendor_completions.d/idk.fish",
  ".local/share/idk/LICENSE",
  ".local/share/idk/LICENSES.txt",
  ".local/share/idk/installed-files",
  ".local/share/man/man1/idk.1",
  ".local/share/zsh/site-functions/_idk",
];

async function filesIn(home: string): Promise<string[]> {
  return (await Array.fromAsync(new Bun.Glob("**/*").scan({ cwd: home, dot: true }))).toSorted();
}

const diskMissing = linux ? await smallDiskMissing() : ["Linux on x64"];

skipIfMissing(missing)("the installer", () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idk-installer-"));
    await mkdir(join(folder, "tmp"));
    await makeCertificate(folder);
    await writeFile(join(folder, "wgetrc"), `ca_certificate = ${join(folder, "public.crt")}\n`);
    insecure = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        askedInsecurely++;
        return answer(request);
      },
    });
    server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 60,
      tls: {
        cert: Bun.file(join(folder, "public.crt")),
        key: Bun.file(join(folder, "private.key")),
      },
      fetch: answer,
    });
    releases = `https://127.0.0.1:${server.port}/releases`;
    key = await makeKey(folder, "release-key");
    script = join(folder, "install.sh");
    await writeFile(script, await installer({ version: VERSION, releases }, await signerOf(key)));
    tools = await toolbox();
    archives = await makeArchives(folder, VERSION);
    signature = await sign(folder, key, sumsOf(archives));
    await publishWith(OLDER, {});
  });

  afterAll(async () => {
    await server.stop(true);
    await insecure.stop(true);
    await rm(folder, { recursive: true });
  });

  beforeEach(() => {
    publish(VERSION, archives, sumsOf(archives), signature);
    asked.length = 0;
    askedInsecurely = 0;
  });

  test.each(shells)("installs with %s", async (shell) => {
    const { code, output, home, marks } = await install({
      shell: shell === "busybox" ? [shell, "sh"] : [shell],
    });
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringContaining("installed idk 1.2.3"),
    });
    expect(await filesIn(home)).toEqual(INSTALLED);
    expect(marks).toBe("unpacked\nran\n");
    const command = join(home, ".local/bin/idk");
    expect((await stat(command)).mode & 0o777).toBe(0o755);
    const page = join(home, ".local/share/man/man1/idk.1");
    expect(await readFile(page, "utf8")).toBe("idk.1 of 1.2.3\n");
    expect((await stat(page)).mode & 0o777).toBe(0o644);
    expect(await snapshot(join(folder, "tmp"))).toEqual({});
  });

  test.each(["--to", "IDK_INSTALL_DIR"])("installs into the folder that %s names", async (how) => {
    const dir = join(await newHome(), "my tools/");
    const chosen = how === "--to" ? { args: ["--to", dir] } : { env: { IDK_INSTALL_DIR: dir } };
    const { code, home } = await install(chosen);
    expect(code).toBe(0);
    expect(await filesIn(home)).toEqual([]);
    expect(await filesIn(dir)).toContain("idk");
    expect(await filesIn(dir)).toContain("share/man/man1/idk.1");
  });

  test("installs a version that is asked for", async () => {
    const { output, home } = await install({ args: ["--version", `v${OLDER}`] });
    expect(output).toContain(`installed idk ${OLDER}`);
    expect(await readFile(join(home, ".local/share/man/man1/idk.1"), "utf8")).toContain(OLDER);
  });

  test("replaces its own installation by another version", async () => {
    const { home } = await install({ args: ["--version", OLDER] });
    const { code } = await install({ home });
    expect(code).toBe(0);
    expect(await filesIn(home)).toEqual(INSTALLED);
    const texts = Object.values(await snapshot(home)).join("");
    expect(texts).toContain(VERSION);
    expect(texts).not.toContain(OLDER);
    const list = await readFile(join(home, ".local/share/idk/installed-files"), "utf8");
    expect(list.trimEnd().split("\n").length).toBe(INSTALLED.length - 1);
  });

  test("removes what it installed, and nothing else", async () => {
    const { home } = await install();
    await mkdir(join(home, ".config/idk"), { recursive: true });
    await writeFile(join(home, ".config/idk/config.toml"), "mine");
    await writeFile(join(home, ".local/share/man/man1/other.1"), "another page");
    const { code, output } = await install({ home, args: ["--uninstall"] });
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining("removed idk") });
    expect(Object.keys(await snapshot(home)).toSorted()).toEqual([
      ".config",
      ".config/idk",
      ".config/idk/config.toml",
      ".local",
      ".local/bin",
      ".local/share",
      ".local/share/man",
      ".local/share/man/man1",
      ".local/share/man/man1/other.1",
    ]);
    await expectRefusal({ home, args: ["--uninstall"] }, /has not installed idk into .*--to DIR/u);
  });

  test("keeps what has changed when it removes the rest", async () => {
    const { home } = await install();
    const page = ".local/share/man/man1/idk.1";
    await writeFile(join(home, page), "my own");
    const { code, output } = await install({ home, args: ["--uninstall"] });
    expect(code).toBe(0);
    expect(output).toMatch(/kept .*idk\.1: it is not as this script installed it/u);
    expect(await filesIn(home)).toEqual([page]);
  });

  describe("refuses to replace", () => {
    const MESSAGE =
      /\.local\/.* is not as this script installed it; move it away, or pass --to DIR/u;

    test("another command of this name", async () => {
      const home = await newHome();
      await mkdir(join(home, ".local/bin"), { recursive: true });
      await writeFile(join(home, ".local/bin/idk"), "of someone else");
      await expectDistrust({ home }, MESSAGE);
      expect(asked).toEqual([]);
    });

    test.each(["/bin/true", "/no/such/file"])("a link to %s", async (target) => {
      const home = await newHome();
      await mkdir(join(home, ".local/bin"), { recursive: true });
      await symlink(target, join(home, ".local/bin/idk"));
      await expectDistrust({ home }, MESSAGE);
    });

    test("its own command after it changed, and another manual page", async () => {
      const { home } = await install();
      await writeFile(join(home, ".local/bin/idk"), "changed");
      await expectDistrust({ home }, MESSAGE);
      await rm(join(home, ".local/bin/idk"));
      await writeFile(join(home, ".local/share/man/man1/idk.1"), "changed");
      await expectDistrust({ home }, MESSAGE);
    });
  });

  describe("refuses a release", () => {
    const FORGED = /signature of SHA256SUMS is not from a release key; nothing was installed/u;

    test("whose checksums were changed", async () => {
      served.set(
        `v${VERSION}/SHA256SUMS`,
        sumsOf(archives).replace(/^./u, (digit) => (digit === "0" ? "1" : "0")),
      );
      await expectDistrust({}, FORGED);
      expect(asked.join("\n")).not.toContain(".tar.gz");
    });

    test("signed with another key", async () => {
      const other = await makeKey(folder, "other-key");
      served.set(`v${VERSION}/SHA256SUMS.sig`, await sign(folder, other, sumsOf(archives)));
      await expectDistrust({}, FORGED);
    });

    test("with a signature that the key made for another purpose", async () => {
      served.set(`v${VERSION}/SHA256SUMS.sig`, await sign(folder, key, sumsOf(archives), "file"));
      await expectDistrust({}, FORGED);
    });

    test.each(["", "\u001B]0;owned\u0007", "x".repeat(100_000)])(
      "with the signature %j",
      async (text) => {
        served.set(`v${VERSION}/SHA256SUMS.sig`, text);
        await expectDistrust({}, FORGED);
      },
    );

    test("without a signature", async () => {
      served.delete(`v${VERSION}/SHA256SUMS.sig`);
      await expectDistrust({}, /there is no .*SHA256SUMS\.sig/u);
    });

    test("that is an older one under the name of this one", async () => {
      for (const name of ["SHA256SUMS", "SHA256SUMS.sig"]) {
        served.set(`v${VERSION}/${name}`, served.get(`v${OLDER}/${name}`)!);
      }
      await expectDistrust({}, /SHA256SUMS of this release has no idk-1\.2\.3-linux-x64\.tar\.gz/u);
    });

    test("whose archive was changed", async () => {
      const name = `idk-${VERSION}-linux-x64.tar.gz`;
      const other = await makeArchives(await mkdtemp(join(folder, "forged-")), VERSION, {
        command: '#!/bin/sh\necho forged >>"$MARKS"\n',
      });
      served.set(`v${VERSION}/${name}`, other.get(name)!);
      await expectDistrust(
        {},
        /checksum of idk-1\.2\.3-linux-x64\.tar\.gz is wrong; nothing was installed/u,
      );
    });

    test("whose archive broke off", async () => {
      const name = `idk-${VERSION}-linux-x64.tar.gz`;
      served.set(`v${VERSION}/${name}`, (archives.get(name) as Uint8Array).subarray(0, 100));
      await expectDistrust({}, /checksum of .* is wrong/u);
    });

    test("whose command is of another version or does not run", async () => {
      await publishWith("1.2.4", { command: '#!/bin/sh\necho "idk 1.0.0"\n' });
      await expectRefusal({ args: ["--version", "1.2.4"] }, /contains another version/u);
      await publishWith("1.2.5", {
        command: "#!/bin/sh\nprintf '\\033[2Jneeds GLIBC_9' >&2\nexit 1\n",
      });
      await expectRefusal(
        { args: ["--version", "1.2.5"] },
        /does not run on this machine: \[2Jneeds GLIBC_9/u,
      );
    });

    test("that does not exist", async () => {
      await expectDistrust(
        { args: ["--version", "9.9.9"] },
        /is 9\.9\.9 a release, .*see https:.*\/releases$/mu,
      );
    });
  });

  describe.each(["curl", "wget"])("with %s", (name) => {
    const only = () => toolbox([name === "curl" ? "wget" : "curl"]);

    test("installs", async () => {
      const { code, home } = await install({ tools: await only() });
      expect(code).toBe(0);
      expect(await filesIn(home)).toEqual(INSTALLED);
    });

    test("follows no redirect to http", async () => {
      const location = `http://127.0.0.1:${insecure.port}/files/v${VERSION}/SHA256SUMS`;
      served.set(
        `v${VERSION}/SHA256SUMS`,
        new Response(null, { status: 302, headers: { location } }),
      );
      await expectDistrust({ tools: await only() }, /cannot download .*SHA256SUMS: .*http/u);
      expect(askedInsecurely).toBe(0);
    });

    test("gives up on redirects that do not end", async () => {
      const location = `${releases}/download/v${VERSION}/SHA256SUMS`;
      served.set(
        `v${VERSION}/SHA256SUMS`,
        new Response(null, { status: 302, headers: { location } }),
      );
      await expectDistrust({ tools: await only() }, /cannot download .*SHA256SUMS: /u);
    });

    test("names the release that does not exist", async () => {
      const args = ["--version", "9.9.9"];
      await expectDistrust({ args, tools: await only() }, /there is no .*is 9\.9\.9 a release/u);
    });

    test("refuses a server with an unknown certificate", async () => {
      await writeFile(join(folder, "empty"), "");
      const env = {
        CURL_CA_BUNDLE: "/etc/ssl/certs/ca-certificates.crt",
        WGETRC: join(folder, "empty"),
      };
      await expectDistrust(
        { env, tools: await only() },
        /cannot download .*certificate.*; check the network/iu,
      );
    });

    test("goes through the proxy, and names the variable if that fails", async () => {
      let tunnels = 0;
      const proxy: Server = createServer((socket) => {
        socket.once("data", (head) => {
          const [, host, port] = /^CONNECT ([\d.]+):(\d+) /u.exec(head.toString()) ?? [];
          tunnels++;
          const upstream = connect(Number(port), host);
          socket.write("HTTP/1.1 200 OK\r\n\r\n");
          socket.pipe(upstream).pipe(socket);
          for (const end of [socket, upstream]) end.on("error", () => undefined);
        });
      });
      await new Promise<void>((resolve) => void proxy.listen(0, "127.0.0.1", resolve));
      const { port } = proxy.address() as { readonly port: number };
      const env = { https_proxy: `http://user:hunter2@127.0.0.1:${port}` };
      const { code } = await install({ env, tools: await only() });
      expect(code).toBe(0);
      expect(tunnels).toBeGreaterThan(0);
      await new Promise((resolve) => void proxy.close(resolve));
      const { output } = await expectRefusal(
        { env, tools: await only() },
        /check the network and the proxy in https_proxy/u,
      );
      expect(output).not.toContain("hunter2");
    });
  });

  describe("needs", () => {
    test("something to download with", async () => {
      const none = await toolbox(["curl", "wget"]);
      await expectDistrust(
        { tools: none },
        /neither curl nor GNU Wget is installed; install curl/u,
      );
      const busybox = await toolbox(["curl"], {
        wget: "echo 'BusyBox v1.37 wget: unrecognized option' >&2; exit 1",
      });
      await expectDistrust(
        { tools: busybox },
        /neither curl nor GNU Wget is installed; install curl/u,
      );
    });

    test.each(["tar", "gzip"])("%s", async (name) => {
      // An empty script would be found.
      const without = await toolbox([name]);
      await rm(join(without, name), { force: true });
      await expectDistrust({ tools: without }, new RegExp(`${name} is not installed`, "u"));
    });

    test("ssh-keygen that checks signatures, or --checksum-only", async () => {
      const none = await toolbox(["ssh-keygen"]);
      const MESSAGE = /signature cannot be checked: .*\n.*openssh-client.*\n.*--checksum-only/u;
      await expectDistrust({ tools: none }, MESSAGE);
      const old = await toolbox([], {
        "ssh-keygen": "echo 'ssh-keygen: illegal option -- Y' >&2; exit 1",
      });
      await expectDistrust({ tools: old }, MESSAGE);
      expect(asked).toEqual([]);
      const { code, output, home } = await install({ tools: none, args: ["--checksum-only"] });
      expect(code).toBe(0);
      expect(output).toContain("the signature is not checked: --checksum-only");
      expect(await filesIn(home)).toEqual(INSTALLED);
      served.set(`v${VERSION}/idk-${VERSION}-linux-x64.tar.gz`, "changed");
      await expectDistrust({ tools: none, args: ["--checksum-only"] }, /checksum of .* is wrong/u);
    });

    test("any program for checksums", async () => {
      for (const name of ["shasum", "openssl"]) {
        const path = Bun.which(name);
        if (path === null) continue;
        const other = await toolbox(["sha256sum"], { [name]: `exec ${path} "$@"` });
        expect(await install({ tools: other })).toMatchObject({ code: 0 });
      }
      await expectDistrust({ tools: await toolbox(["sha256sum"]) }, /sha256sum is not installed/u);
    });
  });

  describe("chooses", () => {
    const system = (name: string, machine: string, more: Record<string, string> = {}) =>
      toolbox([], {
        uname: `case $1 in -s) echo ${name} ;; -m) echo ${machine} ;; esac`,
        getconf: 'case $1 in LONG_BIT) echo 64 ;; GNU_LIBC_VERSION) echo "glibc 2.36" ;; esac',
        ...more,
      });
    const musl = { getconf: "exit 1", ldd: "echo 'musl libc (x86_64)' >&2; exit 1" };

    test.each([
      ["linux-x64", "Linux", "x86_64", {}],
      ["linux-arm64", "Linux", "aarch64", {}],
      ["linux-x64-musl", "Linux", "x86_64", musl],
      ["linux-arm64-musl", "Linux", "aarch64", musl],
      // musl is installed beside glibc.
      ["linux-x64", "Linux", "x86_64", { ldd: musl.ldd }],
      ["macos-x64", "Darwin", "x86_64", { sysctl: "echo 0" }],
      ["macos-arm64", "Darwin", "arm64", { sysctl: "exit 1" }],
      // Translated.
      ["macos-arm64", "Darwin", "x86_64", { sysctl: "echo 1" }],
    ])("%s on %s %s %j", async (platform, name, machine, more) => {
      const { code } = await install({ tools: await system(name, machine, more) });
      expect(code).toBe(0);
      expect(asked).toContain(`/releases/download/v${VERSION}/idk-${VERSION}-${platform}.tar.gz`);
    });

    test("on Alpine the library to add", async () => {
      const command =
        "#!/bin/sh\necho 'Error loading shared library libstdc++.so.6' >&2\nexit 127\n";
      await publishWith("1.2.6", { command, platforms: ["linux-x64-musl"] });
      const options = {
        args: ["--version", "1.2.6"],
        tools: await system("Linux", "x86_64", musl),
      };
      await expectRefusal(
        options,
        /libstdc\+\+\.so\.6\nOn Alpine, run apk add libstdc\+\+ and try again/u,
      );
    });

    test.each([
      ["Linux", "riscv64", {}, /no build for Linux on riscv64; npm/u],
      ["Linux", "armv7l", {}, /no build for Linux on armv7l; npm/u],
      ["Linux", "aarch64", { getconf: "echo 32" }, /no build for 32-bit systems/u],
      // Android.
      ["Linux", "aarch64", { getconf: "exit 1", ldd: "exit 127" }, /neither glibc nor musl/u],
      ["FreeBSD", "amd64", {}, /no build for FreeBSD; npm/u],
      ["MINGW64_NT-10.0", "x86_64", {}, /not for Windows; download idk-1\.2\.3-windows-x64\.zip/u],
    ])("nothing on %s %s %j", async (name, machine, more, message) => {
      await expectDistrust({ tools: await system(name, machine, more) }, message);
      expect(asked).toEqual([]);
    });
  });

  describe("names", () => {
    test("a folder that is not on the PATH", async () => {
      const { output, home } = await install();
      expect(output).toContain(`export PATH="${join(home, ".local/bin")}:$PATH"`);
    });

    test("nothing if the command will be found", async () => {
      const home = await newHome();
      const path = `${join(home, ".local/bin")}:${tools}`;
      const { output } = await install({ home, env: { PATH: path } });
      expect(output).not.toContain("note:");
    });

    test("another command that comes first", async () => {
      const home = await newHome();
      const other = await toolbox([], { idk: "exit 0" });
      const path = `${other}:${join(home, ".local/bin")}`;
      const { output } = await install({ home, env: { PATH: path } });
      expect(output).toContain(`note: your shell finds another idk first: ${join(other, "idk")}`);
    });

    test.each([
      [["--version", "1.2.3/../../x"], /is not a version such as 1\.2\.3/u],
      [["--version", "latest"], /is not a version such as 1\.2\.3/u],
      [["--to"], /--to needs a value/u],
      [["--to", "/"], /not the root/u],
      [["--prefix=/usr"], /unknown argument --prefix=\/usr; see --help/u],
    ])("what is wrong with %j", async (args, message) => {
      await expectDistrust({ args }, message);
      expect(asked).toEqual([]);
    });

    test("what it can do", async () => {
      const { code, output, home } = await install({ args: ["--help"] });
      expect(code).toBe(0);
      expect(output).toContain("--uninstall");
      expect(await filesIn(home)).toEqual([]);
    });

    test("a home that is not known", async () => {
      await expectDistrust({ env: { HOME: "" } }, /HOME is not set; pass --to DIR/u);
    });

    test("a folder that cannot be created", async () => {
      const home = await newHome();
      await writeFile(join(home, ".local"), "a file");
      await expectDistrust({ home }, /cannot create the folder .*\.local/u);
    });
  });

  test("runs nothing of a download of itself that broke off", async () => {
    const home = await newHome();
    const text = await readFile(script, "utf8");
    const ends = Array.from(text.matchAll(/\n/gu), ({ index }) => index);
    // The end of each line, and each character at the end of the script.
    const last = Array.from({ length: 40 }, (_, at) => text.length - 2 - at);
    for (const end of new Set([...ends.filter((at) => at < text.length - 2), ...last])) {
      const options = {
        cwd: home,
        env: environment(home, tools),
        stdin: Buffer.from(text.slice(0, end)),
      };
      Bun.spawnSync(["/bin/sh", "-s", "--", "--version", OLDER], options);
      expect({ end: text.slice(0, end).slice(-40), asked: asked.length }).toMatchObject({
        asked: 0,
      });
    }
    expect(await filesIn(home)).toEqual([]);
    const options = { cwd: home, env: environment(home, tools), stdin: Buffer.from(text) };
    const child = Bun.spawn(["/bin/sh", "-s", "--", "--version", OLDER], {
      ...options,
      stdio: [options.stdin, "ignore", "ignore"],
    });
    expect(await child.exited).toBe(0);
    expect(await filesIn(home)).toEqual(INSTALLED);
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "leaves nothing behind after %s",
    async (signal) => {
      const home = await newHome();
      const name = `v${VERSION}/idk-${VERSION}-linux-x64.tar.gz`;
      const endless = new ReadableStream({
        start: (controller) => controller.enqueue(randomBytes(65_536)),
      });
      served.set(name, new Response(endless));
      // Its own group, as a terminal gives it.
      const child = spawn("/bin/sh", [script], {
        cwd: home,
        env: environment(home, tools),
        detached: true,
      });
      const exited = new Promise((resolve) => child.on("exit", resolve));
      while (!asked.some((path) => path.endsWith(".tar.gz"))) await Bun.sleep(5);
      await Bun.sleep(50);
      expect(await snapshot(home)).not.toEqual({});
      process.kill(-child.pid!, signal);
      expect(await exited).toBeGreaterThan(128);
      expect(await snapshot(home)).toEqual({});
    },
  );

  skipIfMissing(diskMissing)("on a disk", () => {
    test.each(["the download", "the command"])("that is too small for %s says so", async (what) => {
      await using disk = await smallDisk(2);
      const filler =
        what === "the download"
          ? randomBytes(3 * 1024 * 1024).toString("base64")
          : "#".repeat(8 * 1024 * 1024);
      await publishWith(VERSION, { command: `#!/bin/sh\necho "idk ${VERSION}"\nexit\n${filler}` });
      await expectRefusal(
        { home: disk.folder, env: { MARKS: "/dev/null" } },
        /; check the free space in .*\.local\/bin/u,
      );
    });

    test("that cannot be written says so", async () => {
      await using disk = await smallDisk(1);
      disk.makeReadOnly();
      await expectRefusal(
        { home: disk.folder, env: { MARKS: "/dev/null" } },
        /cannot create the folder .*\.local; pass another one/u,
      );
    });

    test("whose folder cannot be written says so", async () => {
      await using disk = await smallDisk(1);
      await mkdir(join(disk.folder, ".local/bin"), { recursive: true });
      disk.makeReadOnly();
      await expectRefusal(
        { home: disk.folder, env: { MARKS: "/dev/null" } },
        /cannot write to the folder .*\.local\/bin/u,
      );
    });
  });
});

test("the installer in the repository installs nothing", () => {
  const { exitCode, stderr } = Bun.spawnSync(["sh", join(root, "packaging/install.sh")]);
  expect(exitCode).toBe(1);
  expect(stderr.toString()).toBe(
    "install idk: this is a template; take install.sh from a release\n",
  );
});

skipIfMissing(Bun.which("shellcheck") === null ? ["shellcheck"] : [])("shellcheck", () => {
  test("has nothing to say about the installer", () => {
    const { stdout } = Bun.spawnSync([
      "shellcheck",
      "--shell=sh",
      join(root, "packaging/install.sh"),
    ]);
    expect(stdout.toString()).toBe("");
  });
});
