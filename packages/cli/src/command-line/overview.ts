/*
 * The output of `idk --help`. It is a text of its own because it has to fit on one screen and print
 * as fast as the runtime starts: import nothing here. A test compares it with the commands.
 */

export const OVERVIEW = `Usage: idk COMMAND [OPTIONS]        encrypted backups, content-addressed storage

  init       start here: keys and a store   doctor      diagnose problems
  backup     back up folders                restore     restore a snapshot
  snapshots  list snapshots                 status      what a backup would do
  ls         list a snapshot, or the store  cat         print one of its files
  diff       compare two snapshots          find        find files in snapshots
  forget     thin out old snapshots         unforget    bring them back
  prune      delete unneeded data           check       check the repository
  recover    bring lost snapshots back      repo        decide who may write
  put        store files, print addresses   get         fetch and decrypt them
  stat       show the layout of content     inspect     what the store can see
  share      grant a recipient access       rewrap      change its recipients
  link       share by a link, for browsers  rm          remove a blob, or a tree
  copy       copy blobs between stores      verify      check blobs, or content
  store      init or check a store          serve       serve a store as S3
  gateway    check what it stored           keygen      create an identity
  recipient  print its public key           bench       measure performance
  recorder   read HTTP recordings           completion  for bash, zsh, fish
  config     show the effective settings   merge-reports  add up shards
Global:   --store NAME|DIR|URL  --json  --quiet  --no-progress  --config FILE
More:     idk COMMAND --help    idk help stores|environment|exit-codes|all|man
Example:  idk init; idk backup Documents --name docs; idk restore docs -t copy
`;

/*
 * Each topic has one entry per line, in two columns; a long first column has a line of its own. The
 * manual page is generated from these.
 */

export const STORES = `Stores:
  NAME           a store from the configuration, see idk config
  DIR            a folder
  file:///DIR?durability=none
                 a folder, without waiting for the disk
  s3://BUCKET[/PREFIX]?endpoint=URL&region=R
                 Amazon S3 or compatible: AWS_… variables, AWS_PROFILE, roles
  minio://HOST[:PORT]/BUCKET[/PREFIX]?tls=0
                 MINIO_ACCESS_KEY, MINIO_SECRET_KEY, MINIO_SESSION_TOKEN;
                 without HOST: MINIO_ENDPOINT, MINIO_PORT, MINIO_USE_SSL;
                 TLS unless HOST is this machine or ?tls=0 is given
  b2://BUCKET[/PREFIX]?region=R
                 B2_ACCESS_KEY_ID, B2_SECRET_ACCESS_KEY; B2_BUCKET, B2_ENDPOINT
  ?sse=AES256, ?sse=aws:kms&kms-key=ID, ?sse-c-key=FILE
                 also encrypt at rest in object stores, with the provider's
                 keys, its key service, or a key in a file (IDK_SSE_C_KEY)
`;

export const ENVIRONMENT = `Environment:
  IDK_CONFIG            configuration file (default: ~/.config/idk/config.toml)
  IDK_STORE             store, as --store
  IDK_IDENTITY          identity files, as -i
  IDK_IDENTITY_KEY      the identity itself
  IDK_IDENTITY_COMMAND  a command that prints the identity
  IDK_PASSPHRASE        passphrase of identity files, instead of a prompt
  IDK_NEW_PASSPHRASE    the passphrase that keygen --change sets
  IDK_RECIPIENTS        recipients or recipients files, as -r and -R
  IDK_CATALOG           catalog of a gateway, as --catalog
  IDK_CREDENTIALS       access keys of a gateway, as --credentials
  IDK_COMPRESS          compression used by put and backup, as --compress
  IDK_WORKERS           number of threads, as --workers
  IDK_RETRY_SECONDS     how long to retry failing requests (default: 60)
  HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY
                        proxies for object stores
  IDK_DEBUG=1           print the stack trace of errors
  NO_COLOR              print no colours and no moving progress bar
`;

export const EXIT_CODES = `Exit codes:
  0    success
  1    unexpected error, or the result cannot be written
  2    invalid usage
  3    not found
  4    no identity can open it, or the passphrase is wrong
  5    damaged or forged data, or a store that is older than it was seen
  6    store unavailable, access denied, or nothing readable to back up
  7    a snapshot was made, but some files could not be read
  129  the terminal was closed (SIGHUP)
  130  interrupted (SIGINT)
  141  the reader of standard output is gone (SIGPIPE)
  143  terminated (SIGTERM)
`;

/** By their names in `idk help NAME`. */
export const TOPICS: Readonly<Record<string, string>> = {
  stores: STORES,
  environment: ENVIRONMENT,
  "exit-codes": EXIT_CODES,
  all: [OVERVIEW, STORES, ENVIRONMENT, EXIT_CODES].join("\n"),
};
