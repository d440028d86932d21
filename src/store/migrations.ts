/** The versions of the database schema in order, as data; a published version is never edited, a change is a new one. */

export interface Migration {
  readonly version: number;
  readonly statements: readonly string[];
}

/** Marks a SQLite file as ours ("afix" in ASCII), so that another program's database is never migrated. */
export const APPLICATION_ID = 0x61666978;

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    statements: [
      // `fence` is the last number given out and never falls; a released or never claimed lease has no worker.
      `CREATE TABLE run (
         run_id TEXT PRIMARY KEY,
         repository_id INTEGER NOT NULL,
         issue INTEGER NOT NULL,
         request TEXT NOT NULL,
         state TEXT NOT NULL,
         ended INTEGER NOT NULL CHECK (ended IN (0, 1)),
         superseded_by TEXT REFERENCES run (run_id) DEFERRABLE INITIALLY DEFERRED,
         created_at INTEGER NOT NULL,
         updated_at INTEGER NOT NULL,
         fence INTEGER NOT NULL DEFAULT 0,
         lease_worker TEXT,
         lease_expires_at INTEGER
       ) STRICT`,
      `CREATE UNIQUE INDEX run_active ON run (repository_id, issue) WHERE ended = 0 AND superseded_by IS NULL`,
      `CREATE INDEX run_issue ON run (repository_id, issue, created_at)`,
      `CREATE INDEX run_created ON run (created_at)`,
      `CREATE TABLE event (
         run_id TEXT NOT NULL REFERENCES run (run_id),
         seq INTEGER NOT NULL,
         at INTEGER NOT NULL,
         body TEXT NOT NULL,
         PRIMARY KEY (run_id, seq)
       ) STRICT`,
      `CREATE TABLE fact (
         run_id TEXT NOT NULL,
         key TEXT NOT NULL,
         seq INTEGER NOT NULL,
         PRIMARY KEY (run_id, key),
         FOREIGN KEY (run_id, seq) REFERENCES event (run_id, seq)
       ) STRICT, WITHOUT ROWID`,
      // `n` gives the order of arrival; AUTOINCREMENT keeps it from being used twice.
      `CREATE TABLE delivery (
         n INTEGER PRIMARY KEY AUTOINCREMENT,
         id TEXT NOT NULL UNIQUE,
         name TEXT NOT NULL,
         body_hash TEXT NOT NULL,
         at INTEGER NOT NULL,
         UNIQUE (name, body_hash)
       ) STRICT`,
      `CREATE TABLE blob (
         run_id TEXT NOT NULL REFERENCES run (run_id),
         name TEXT NOT NULL,
         value BLOB NOT NULL,
         updated_at INTEGER NOT NULL,
         PRIMARY KEY (run_id, name)
       ) STRICT`,
    ],
  },
  {
    version: 2,
    // Runs of version 1 count as open once more: a visit to one that was dealt with does nothing.
    statements: ["ALTER TABLE run ADD COLUMN settled_seq INTEGER NOT NULL DEFAULT 0"],
  },
  {
    version: 3,
    // Which runs stand behind a pull request, also for those published before this version.
    statements: [
      `CREATE TABLE pull_request (
         repository_id INTEGER NOT NULL,
         number INTEGER NOT NULL,
         run_id TEXT NOT NULL REFERENCES run (run_id),
         PRIMARY KEY (repository_id, number, run_id)
       ) STRICT, WITHOUT ROWID`,
      `INSERT OR IGNORE INTO pull_request (repository_id, number, run_id)
         SELECT run.repository_id, json_extract(event.body, '$.pullRequest'), run.run_id
         FROM event JOIN run USING (run_id) WHERE json_extract(event.body, '$.type') = 'published'`,
    ],
  },
];
