/** By command, as `idk COMMAND --help` prints them. Tests parse each one. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  init: [
    "idk init                                      prompts for what it needs",
    "idk init --store s3://attic --no-passphrase   without prompts",
  ],
  config: ["idk config", "idk config --store work --json"],
  keygen: [
    "idk keygen -o me.key > me.pub                 me.key is secret: back it up",
    "idk keygen -o safe.key --passphrase",
    "idk keygen --writer -o host.key > host.pub    for `idk repo allow`",
  ],
  recipient: ["idk recipient -i me.key"],
  backup: [
    "idk backup ~/Documents                        again: only what is new is sent",
    "idk backup /etc /home --name web1 --exclude-caches -e '*.tmp'",
    "find . -newer last -print0 | idk backup --files-from - -0 --name recent",
  ],
  restore: [
    "idk restore web1 --target out                 the newest snapshot of this name",
    "idk restore web1@2026-11-20:/etc --target /tmp/etc --dry-run",
    "idk restore web1~1:/home/me/notes.txt --target .",
  ],
  snapshots: ["idk snapshots", "idk snapshots --name web1 --long"],
  status: ["idk status ~/Documents"],
  cat: ["idk cat web1:/home/me/notes.txt"],
  diff: ["idk diff web1~1 web1", "idk diff web1@2026-11-01 web1 --json"],
  find: ["idk find '*.pdf'", "idk find '**/.ssh/*' --all --long"],
  forget: [
    "idk forget --keep-daily 7 --keep-weekly 4 --keep-yearly unlimited --dry-run",
    "idk forget --name 'web1/*' --keep-within 1y --prune",
    "idk forget 5f2b8c1e                           this one",
  ],
  unforget: ["idk unforget 5f2b8c1e"],
  prune: ["idk prune --dry-run                           what becomes free, and when"],
  check: ["idk check", "idk check --read-data=10%"],
  recover: ["idk recover --dry-run"],
  repo: ["idk repo show", "idk repo allow \"$(cat host.pub)\" --names 'web1/*'"],
  "repo init": ["idk repo init --grace-period 14d"],
  "repo show": ["idk repo show", "idk repo show --json"],
  "repo allow": ["idk repo allow \"$(cat host.pub)\" --names 'web1/*'"],
  "repo revoke": ['idk repo revoke "$(cat host.pub)"'],
  "repo share": [
    "idk repo share                                after a recipient was added to the configuration",
  ],
  put: [
    "idk put report.pdf -R alice.pub -R bob.pub",
    "idk put photos --compress auto                each file in the folder",
    "idk put - --name dump.sql < dump.sql",
    "idk put --from-file list.txt --done stored    skips what an earlier run stored",
  ],
  get: [
    "idk get 5f2b8c1e9a04d7b36c11 -o report.pdf    the first 20 digits or more",
    "idk get 5f2b8c1e9a04d7b36c11 --range 0-1000000",
    "idk get --from-file stored --output-dir out",
  ],
  stat: [
    "idk stat 5f2b8c1e                             8 digits are enough to display",
    "idk stat 5f2b8c1e --json",
  ],
  share: ["idk share 5f2b8c1e9a04d7b36c11 -R bob.pub     writes only a new root"],
  rewrap: [
    "idk rewrap 5f2b8c1e9a04d7b36c11 -R bob.pub    for exactly this one",
    "idk rewrap 5f2b8c1e9a04d7b36c11 -R bob.pub --reseal --delete-old",
  ],
  ls: [
    "idk ls --long -i me.key",
    "idk ls web1 /home/me                          a folder of a snapshot",
  ],
  inspect: ["idk inspect 5f2b8c1e"],
  verify: [
    "idk verify                                    every blob, without a key",
    "idk verify --deep 5f2b8c1e9a04d7b36c11        all content below one address",
    "idk verify --server-checksums                 without downloading",
  ],
  copy: [
    "idk copy --from s3://attic --to ./mirror",
    "idk copy --from ./blobs --to b2://attic --tree 5f2b8c1e9a04d7b36c11",
  ],
  rm: ["idk rm 5f2b8c1e9a04d7b36c11 --tree            the root and its chunks"],
  doctor: ["idk doctor", "idk doctor --json --store s3://attic"],
  bench: ["idk bench --list", "idk bench hash-perf --quick"],
  completion: [
    "source <(idk completion bash)                 in ~/.bashrc; the same for zsh",
    "idk completion fish > ~/.config/fish/completions/idk.fish",
  ],
  help: [
    "idk help stores",
    "idk help man | man -l -                       if it is not installed",
    "idk help man > ~/.local/share/man/man1/idk.1",
  ],
  store: ["idk store check s3://attic", "idk store init minio:///attic --versioning"],
  "store init": [
    "idk store init minio:///attic --versioning",
    "idk store init 's3://attic?region=eu-central-1' --default-sse AES256",
  ],
  "store check": ["idk store check s3://attic --json"],
};
