/** The command lines to store one encrypted file in an object store and to fetch it. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { formatIdentity, generateIdentity } from "@idk/storage";
import { isolatedUserFolders } from "../src/harness/files.ts";
import { type Program, publishedCommand, run, shell } from "../src/harness/processes.ts";
import type { Peers } from "../src/suites/peer-programs.ts";

export interface Contender {
  readonly name: string;
  /** If false, the contender is no competitor, but shows the cost of the same client without encryption. */
  readonly encrypts: boolean;
  /** Unmeasured preparation before the first put below a prefix. */
  prepare?(prefix: string): Promise<unknown>;
  /** Stores the file below the prefix. */
  put(prefix: string): Program;
  /** Receives the output of a put. */
  onPut?(prefix: string, stdout: string): void;
  /** Fetches it into an empty folder. */
  get(prefix: string, folder: string): Program;
  /** The path of the file after `get`. */
  fetched(folder: string): string;
}

export interface Setting {
  /** The file to store. */
  readonly file: string;
  /** For keys, caches and configuration. */
  readonly folder: string;
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly bucket: string;
}

const OUTPUT = "fetched";
const PASSWORD = "correct horse battery staple";

/** idk and the programs it is compared with, each with its defaults. */
export async function contenders(setting: Setting, peers: Peers): Promise<Contender[]> {
  const aws = awsEnvironment(setting);
  const rclone = await rcloneEnvironment(setting, peers);
  return [
    await idk(setting),
    rcloneRemote("rclone crypt", "sealed", setting, peers, rclone),
    rcloneRemote("rclone plain", "plain", setting, peers, rclone),
    await ageAndAws(setting, peers, aws),
    restic(setting, peers, aws),
  ];
}

/** Deletes everything below a prefix. */
export async function purge(setting: Setting, peers: Peers, prefix: string): Promise<void> {
  const env = await rcloneEnvironment(setting, peers);
  await run({ argv: [peers.rclone, "purge", `plain:${setting.bucket}/${prefix}`], env });
}

async function idk(setting: Setting): Promise<Contender> {
  const identity = await generateIdentity();
  const keyFile = join(setting.folder, "idk.key");
  await writeFile(keyFile, `${formatIdentity(identity)}\n`, { mode: 0o600 });
  const env = {
    ...isolatedUserFolders(setting.folder),
    MINIO_ENDPOINT: setting.endpoint,
    MINIO_ACCESS_KEY: setting.accessKey,
    MINIO_SECRET_KEY: setting.secretKey,
  };
  const store = (prefix: string) => `minio:///${setting.bucket}/${prefix}`;
  const addresses = new Map<string, string>();
  const published = await publishedCommand();
  const idk = (...args: string[]): Program => ({
    argv: [process.execPath, published, ...args],
    env,
  });
  return {
    name: "idk",
    encrypts: true,
    put: (prefix) =>
      idk("put", setting.file, "--recipient", identity.recipient, "--store", store(prefix)),
    onPut: (prefix, stdout) => addresses.set(prefix, stdout.trim()),
    get(prefix, folder) {
      const [address, path] = [addresses.get(prefix) ?? "", join(folder, OUTPUT)];
      return idk("get", address, "--identity", keyFile, "--store", store(prefix), "-o", path);
    },
    fetched: (folder) => join(folder, OUTPUT),
  };
}

function rcloneRemote(
  name: string,
  remote: string,
  { file, bucket }: Setting,
  { rclone }: Peers,
  env: Record<string, string>,
): Contender {
  // The crypt remote already includes the bucket.
  const path = (prefix: string) =>
    remote === "plain" ? `plain:${bucket}/${prefix}/file` : `${remote}:${prefix}/file`;
  return {
    name,
    encrypts: remote !== "plain",
    put: (prefix) => ({ argv: [rclone, "copyto", file, path(prefix)], env }),
    get: (prefix, folder) => ({
      argv: [rclone, "copyto", path(prefix), join(folder, OUTPUT)],
      env,
    }),
    fetched: (folder) => join(folder, OUTPUT),
  };
}

/** Two remotes without a configuration file: the plain bucket, and a crypt remote on top of it. */
async function rcloneEnvironment(
  { folder, endpoint, accessKey, secretKey, bucket }: Setting,
  { rclone }: Peers,
): Promise<Record<string, string>> {
  const { stdout } = await run({ argv: [rclone, "obscure", PASSWORD] });
  return {
    // An empty value means no configuration file.
    RCLONE_CONFIG: "",
    RCLONE_CACHE_DIR: join(folder, "rclone"),
    RCLONE_CONFIG_PLAIN_TYPE: "s3",
    RCLONE_CONFIG_PLAIN_PROVIDER: "Minio",
    RCLONE_CONFIG_PLAIN_ENDPOINT: endpoint,
    RCLONE_CONFIG_PLAIN_REGION: "us-east-1",
    RCLONE_CONFIG_PLAIN_ACCESS_KEY_ID: accessKey,
    RCLONE_CONFIG_PLAIN_SECRET_ACCESS_KEY: secretKey,
    RCLONE_CONFIG_SEALED_TYPE: "crypt",
    RCLONE_CONFIG_SEALED_REMOTE: `plain:${bucket}`,
    // Plain names, so that the objects of a round can be deleted. Contents are encrypted.
    RCLONE_CONFIG_SEALED_DIRECTORY_NAME_ENCRYPTION: "false",
    RCLONE_CONFIG_SEALED_PASSWORD: stdout.trim(),
  };
}

async function ageAndAws(
  { file, folder, endpoint, bucket }: Setting,
  { age, ageKeygen, aws }: Peers,
  env: Record<string, string>,
): Promise<Contender> {
  const keyFile = join(folder, "age.key");
  await run({ argv: [ageKeygen, "-o", keyFile] });
  const recipient = /age1[0-9a-z]+/u.exec(await readFile(keyFile, "utf8"))?.[0] ?? "";
  const url = (prefix: string) => `s3://${bucket}/${prefix}/file.age`;
  const copy = '"$2" s3 cp --only-show-errors --endpoint-url "$3"';
  return {
    name: "age | aws s3 cp",
    encrypts: true,
    put: (prefix) => ({
      argv: shell(`"$1" -r "$4" "$5" | ${copy} - "$6"`, [
        age,
        aws,
        endpoint,
        recipient,
        file,
        url(prefix),
      ]),
      env,
    }),
    get: (prefix, into) => ({
      argv: shell(`${copy} "$4" - | "$1" -d -i "$5" -o "$6"`, [
        age,
        aws,
        endpoint,
        url(prefix),
        keyFile,
        join(into, OUTPUT),
      ]),
      env,
    }),
    fetched: (into) => join(into, OUTPUT),
  };
}

function awsEnvironment({ accessKey, secretKey }: Setting): Record<string, string> {
  return {
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: secretKey,
    AWS_DEFAULT_REGION: "us-east-1",
    // Do not read the user's settings.
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    AWS_EC2_METADATA_DISABLED: "true",
  };
}

function restic(
  { file, folder, endpoint, bucket }: Setting,
  { restic }: Peers,
  aws: Record<string, string>,
): Contender {
  const program = (prefix: string, ...args: string[]): Program => ({
    argv: [restic, "--quiet", "--repo", `s3:${endpoint}/${bucket}/${prefix}`, ...args],
    // One cache per repository: restic normally has one, and it starts empty as for the others.
    env: { ...aws, RESTIC_PASSWORD: PASSWORD, RESTIC_CACHE_DIR: join(folder, "restic", prefix) },
  });
  const source = file.slice(0, file.lastIndexOf("/"));
  return {
    name: "restic",
    encrypts: true,
    // A new repository for each put, because an existing one would already contain all chunks.
    prepare: (prefix) => run(program(prefix, "init")),
    put: (prefix) => program(prefix, "backup", file),
    get: (prefix, into) => program(prefix, "restore", `latest:${source}`, "--target", into),
    fetched: (into) => join(into, file.slice(source.length + 1)),
  };
}
