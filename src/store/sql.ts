/** Every statement the SQLite store runs, as data. */

const RUN_COLUMNS = "run_id, request, state, ended, superseded_by, created_at, updated_at";

export const SQL = {
  insertRun: `INSERT INTO run (run_id, repository_id, issue, request, state, ended, created_at, updated_at)
    VALUES (:runId, :repositoryId, :issue, :request, 'queued', 0, :at, :at)`,
  activeRun: `SELECT run_id FROM run
    WHERE repository_id = :repositoryId AND issue = :issue AND ended = 0 AND superseded_by IS NULL`,
  supersede: `UPDATE run SET superseded_by = :by
    WHERE run_id = :runId AND repository_id = :repositoryId AND issue = :issue AND ended = 0 AND superseded_by IS NULL`,
  run: `SELECT ${RUN_COLUMNS} FROM run WHERE run_id = :runId`,
  latestRun: `SELECT ${RUN_COLUMNS} FROM run
    WHERE repository_id = :repositoryId AND issue = :issue
    ORDER BY (ended = 0 AND superseded_by IS NULL) DESC, created_at DESC, rowid DESC LIMIT 1`,
  runs: `SELECT ${RUN_COLUMNS} FROM run WHERE :ended IS NULL OR ended = :ended
    ORDER BY created_at DESC, rowid DESC LIMIT :limit`,
  runsOf: `SELECT ${RUN_COLUMNS} FROM run WHERE repository_id = :repositoryId AND issue = :issue
    ORDER BY created_at DESC, rowid DESC`,
  runsOfPullRequest: `SELECT ${RUN_COLUMNS.split(", ")
    .map((column) => `run.${column}`)
    .join(", ")}
    FROM pull_request JOIN run USING (run_id)
    WHERE pull_request.repository_id = :repositoryId AND pull_request.number = :pullRequest
    ORDER BY run.created_at DESC, run.rowid DESC`,
  insertPullRequest: `INSERT OR IGNORE INTO pull_request (repository_id, number, run_id)
    SELECT repository_id, :pullRequest, run_id FROM run WHERE run_id = :runId`,
  openRuns: `SELECT ${RUN_COLUMNS} FROM run
    WHERE ended = 0 OR settled_seq < (SELECT max(seq) FROM event WHERE event.run_id = run.run_id)
    ORDER BY created_at, rowid`,
  settle: "UPDATE run SET settled_seq = :seq WHERE run_id = :runId",

  events: "SELECT seq, at, body FROM event WHERE run_id = :runId AND seq > :afterSeq ORDER BY seq",
  lastSeq: "SELECT coalesce(max(seq), 0) AS seq FROM event WHERE run_id = :runId",
  insertEvent: "INSERT INTO event (run_id, seq, at, body) VALUES (:runId, :seq, :at, :body)",
  setHead: "UPDATE run SET state = :state, ended = :ended, updated_at = :at WHERE run_id = :runId",
  touch: "UPDATE run SET updated_at = :at WHERE run_id = :runId",
  fact: "SELECT seq FROM fact WHERE run_id = :runId AND key = :key",
  insertFact: "INSERT INTO fact (run_id, key, seq) VALUES (:runId, :key, :seq)",

  leaseOf: "SELECT lease_worker, fence FROM run WHERE run_id = :runId",
  claim: `UPDATE run SET fence = fence + 1, lease_worker = :worker, lease_expires_at = :expiresAt
    WHERE run_id = :runId
      AND (lease_worker IS NULL OR lease_worker = :worker OR lease_expires_at <= :now)
    RETURNING fence`,
  renew: `UPDATE run SET lease_expires_at = :expiresAt
    WHERE run_id = :runId AND lease_worker = :worker AND fence = :fence`,
  release: `UPDATE run SET lease_worker = NULL, lease_expires_at = NULL
    WHERE run_id = :runId AND lease_worker = :worker AND fence = :fence`,
  leases: `SELECT run_id, lease_worker, fence FROM run
    WHERE lease_worker IS NOT NULL AND lease_expires_at > :now ORDER BY run_id`,

  knownDelivery: "SELECT 1 FROM delivery WHERE id = :id OR (name = :name AND body_hash = :bodyHash)",
  deliveryOnRecord: "SELECT 1 FROM delivery WHERE id = :id",
  newestDelivery: "SELECT at FROM delivery ORDER BY n DESC LIMIT 1",
  insertDelivery:
    "INSERT INTO delivery (id, name, body_hash, at) VALUES (:id, :name, :bodyHash, :at) RETURNING n",
  trimDeliveries: "DELETE FROM delivery WHERE n <= :newest - :keep",

  putBlob: `INSERT INTO blob (run_id, name, value, updated_at) VALUES (:runId, :name, :value, :at)
    ON CONFLICT (run_id, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  blob: "SELECT value FROM blob WHERE run_id = :runId AND name = :name",

  probe: "SELECT count(*) FROM (SELECT 1 FROM run LIMIT 1)",
} as const;
