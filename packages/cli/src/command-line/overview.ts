/*
 * What `idk --help` prints. It is a text of its own, for it has to fit a screen, and to come as fast
 * as the runtime starts: nothing is imported here. A test holds it together with the commands.
 */

export const OVERVIEW = `Usage: idk COMMAND [OPTIONS]      encrypted, content-addressed storage

  init       set up an identity, a store and the configuration: begin here
  put        store files, folders or standard input; print their addresses
  get        fetch, verify and decrypt what an address names
  ls         list addresses, or names and sizes           (--long)
  stat       say what an address holds
  share      let one more read it           rewrap     change who can read it
  rm         remove a blob, or all of a tree
  verify     check blobs without a key, or all content with one
  copy       copy blobs from one store to another, without a key
  inspect    say what the store can see of a blob
  keygen     make an identity               recipient  print its public key
  store      make a store (init), or find out what it can do (check)
  config     show the settings in force     doctor     look for what is wrong
  bench      measure its speed here         completion  for bash, zsh, fish

Everywhere: --store NAME|DIR|URL  --json  --quiet  --no-progress  --config FILE
More:       idk COMMAND --help    idk help stores|environment|exit-codes|all
Example:    idk init; idk put report.pdf; idk get ADDRESS -o copy.pdf
`;

const STORES = `Stores:
  NAME                                              of the configuration: idk config
  DIR or file:///DIR?durability=none                no wait for the disk: docs/backends.md
  s3://BUCKET[/PREFIX]?endpoint=URL&region=R        AWS_… variables, AWS_PROFILE, roles
  minio://HOST[:PORT]/BUCKET[/PREFIX]?tls=1         MINIO_ENDPOINT, MINIO_PORT, MINIO_USE_SSL,
                                                    MINIO_ACCESS_KEY, MINIO_SECRET_KEY,
                                                    MINIO_SESSION_TOKEN
  b2://BUCKET[/PREFIX]?region=R                     B2_ACCESS_KEY_ID, B2_SECRET_ACCESS_KEY,
                                                    B2_BUCKET, B2_ENDPOINT
  Encryption at rest, on top: sse=AES256, sse=aws:kms&kms-key=ID, or sse-c-key=FILE (IDK_SSE_C_KEY)
`;

const ENVIRONMENT = `Environment:
  IDK_CONFIG            the configuration, instead of ~/.config/idk/config.toml
  IDK_STORE             the store, instead of --store
  IDK_IDENTITY          identity files, instead of -i
  IDK_IDENTITY_KEY      the identity itself
  IDK_IDENTITY_COMMAND  a command that prints it
  IDK_PASSPHRASE        the passphrase of protected identity files, instead of a prompt
  IDK_RECIPIENTS        recipients or recipients files, instead of -r and -R
  IDK_COMPRESS          how put compresses, instead of --compress
  IDK_WORKERS           threads of put, get and verify, instead of --workers
  IDK_RETRY_SECONDS     how long failing requests are tried again (default: 60)
  IDK_DEBUG=1           with an error, the stack of calls that led to it
  NO_COLOR              no colours and no moving bar
`;

const EXIT_CODES = `Exit codes:
  0 done               3 not found                  6 store unavailable or refused
  1 unexpected error   4 no identity opens it     130 interrupted
  2 wrong usage        5 damaged or forged data
`;

/** By what `idk help` calls them. */
export const TOPICS: Readonly<Record<string, string>> = {
  stores: STORES,
  environment: ENVIRONMENT,
  "exit-codes": EXIT_CODES,
  all: [OVERVIEW, STORES, ENVIRONMENT, EXIT_CODES].join("\n"),
};
