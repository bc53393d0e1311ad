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
More:       idk COMMAND --help    idk help stores|environment|exit-codes|all|man
Example:    idk init; idk put report.pdf; idk get ADDRESS -o copy.pdf
`;

/*
 * The topics have a line for each entry, in two columns, or on lines of its own where the first is
 * too long: the manual page is made from them.
 */

export const STORES = `Stores:
  NAME           of the configuration: idk config
  DIR            a folder
  file:///DIR?durability=none
                 a folder, without waiting for the disk
  s3://BUCKET[/PREFIX]?endpoint=URL&region=R
                 Amazon S3 or alike: AWS_… variables, AWS_PROFILE, roles
  minio://HOST[:PORT]/BUCKET[/PREFIX]?tls=1
                 MINIO_ACCESS_KEY, MINIO_SECRET_KEY, MINIO_SESSION_TOKEN;
                 without a host MINIO_ENDPOINT, MINIO_PORT, MINIO_USE_SSL
  b2://BUCKET[/PREFIX]?region=R
                 B2_ACCESS_KEY_ID, B2_SECRET_ACCESS_KEY; B2_BUCKET, B2_ENDPOINT
  ?sse=AES256, ?sse=aws:kms&kms-key=ID, ?sse-c-key=FILE
                 encryption at rest as well, of object stores: by keys of the
                 provider, of its key service, or in a file (IDK_SSE_C_KEY)
`;

export const ENVIRONMENT = `Environment:
  IDK_CONFIG            the configuration, instead of ~/.config/idk/config.toml
  IDK_STORE             the store, instead of --store
  IDK_IDENTITY          identity files, instead of -i
  IDK_IDENTITY_KEY      the identity itself
  IDK_IDENTITY_COMMAND  a command that prints it
  IDK_PASSPHRASE        of protected identity files, instead of a prompt
  IDK_RECIPIENTS        recipients or recipients files, instead of -r and -R
  IDK_COMPRESS          how put compresses, instead of --compress
  IDK_WORKERS           threads of put, get and verify, instead of --workers
  IDK_RETRY_SECONDS     how long failing requests are repeated (default: 60)
  IDK_DEBUG=1           with an error, the stack of calls that led to it
  NO_COLOR              no colours and no moving bar
`;

export const EXIT_CODES = `Exit codes:
  0    done
  1    unexpected error
  2    wrong usage
  3    not found
  4    no identity opens it
  5    damaged or forged data
  6    store unavailable or refused
  130  interrupted
`;

/** By what `idk help` calls them. */
export const TOPICS: Readonly<Record<string, string>> = {
  stores: STORES,
  environment: ENVIRONMENT,
  "exit-codes": EXIT_CODES,
  all: [OVERVIEW, STORES, ENVIRONMENT, EXIT_CODES].join("\n"),
};
