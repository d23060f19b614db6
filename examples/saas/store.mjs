// All that the product stores. Orders and their events are committed together: that is the outbox.
import { randomBytes, randomUUID, scryptSync, timingSafeEqual } from 'node:crypto';
import { DatabaseSync } from '@photostructure/sqlite';

const TABLES = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;      -- a commit is on the disk
  PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS tenants (
    id TEXT PRIMARY KEY,          -- the id of its account at Hookferry too
    name TEXT NOT NULL UNIQUE,
    password TEXT NOT NULL,
    has_account INTEGER NOT NULL DEFAULT 0,
    is_leaving INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS logins (token TEXT PRIMARY KEY, tenant_id TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, total REAL NOT NULL, paid INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS outbox (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,      -- the event's id: publishing a row twice is one event
    tenant_id TEXT NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,           -- JSON as text, so that each attempt sends the same bytes
    refused TEXT                  -- why Hookferry will never take it
  );`;

export class Store {
  #db;

  constructor(path) {
    this.#db = new DatabaseSync(path);
    this.#db.exec(TABLES);
  }

  /** Returns undefined if the name is taken. */
  signUp(name, password) {
    if (this.#get('SELECT 1 FROM tenants WHERE name = ?', name)) return undefined;
    const id = `tenant-${randomBytes(8).toString('hex')}`;
    this.#run('INSERT INTO tenants (id, name, password) VALUES (?, ?, ?)', id, name, hash(password));
    return this.#newLogin(id);
  }

  /** Returns the token for a cookie, or undefined. */
  logIn(name, password) {
    const tenant = this.#get('SELECT id, password FROM tenants WHERE name = ? AND is_leaving = 0', name);
    return tenant && isHashOf(tenant.password, password) ? this.#newLogin(tenant.id) : undefined;
  }

  logOut(token) {
    this.#run('DELETE FROM logins WHERE token = ?', token);
  }

  tenantOf(token) {
    return this.#get(
      'SELECT t.* FROM logins l JOIN tenants t ON t.id = l.tenant_id WHERE l.token = ? AND t.is_leaving = 0',
      token,
    );
  }

  /** The order and its event: both are committed, or neither. */
  createOrder(tenantId, total) {
    const id = `ord_${randomUUID()}`;
    this.#transaction(() => {
      this.#run('INSERT INTO orders (id, tenant_id, total) VALUES (?, ?, ?)', id, tenantId, total);
      this.#append(tenantId, 'order.created', { id, total });
    });
  }

  payOrder(tenantId, id) {
    this.#transaction(() => {
      const unpaid = 'UPDATE orders SET paid = 1 WHERE id = ? AND tenant_id = ? AND paid = 0 RETURNING total';
      const order = this.#get(unpaid, id, tenantId);
      if (order) this.#append(tenantId, 'order.paid', { id, total: order.total });
    });
  }

  ordersOf(tenantId) {
    return this.#all('SELECT * FROM orders WHERE tenant_id = ? ORDER BY rowid DESC LIMIT 100', tenantId);
  }

  tenantsToPublishFor() {
    const rows = this.#all('SELECT DISTINCT tenant_id FROM outbox WHERE refused IS NULL');
    return rows.map(({ tenant_id }) => tenant_id);
  }

  /** The oldest event of a tenant that is not published yet. */
  nextInOutbox(tenantId) {
    const oldest = 'SELECT * FROM outbox WHERE tenant_id = ? AND refused IS NULL ORDER BY position LIMIT 1';
    return this.#get(oldest, tenantId);
  }

  published(id) {
    this.#run('DELETE FROM outbox WHERE id = ?', id);
  }

  refused(id, why) {
    this.#run('UPDATE outbox SET refused = ? WHERE id = ?', why, id);
  }

  tenant(id) {
    return this.#get('SELECT * FROM tenants WHERE id = ?', id);
  }

  accountMade(tenantId) {
    this.#run('UPDATE tenants SET has_account = 1 WHERE id = ?', tenantId);
  }

  /** Nobody can log in from now on, and nothing more is published. */
  leave(tenantId) {
    this.#transaction(() => {
      this.#run('UPDATE tenants SET is_leaving = 1 WHERE id = ?', tenantId);
      for (const table of ['logins', 'outbox', 'orders'])
        this.#run(`DELETE FROM ${table} WHERE tenant_id = ?`, tenantId);
    });
  }

  leaving() {
    return this.#all('SELECT id, name FROM tenants WHERE is_leaving = 1');
  }

  forget(tenantId) {
    this.#run('DELETE FROM tenants WHERE id = ?', tenantId);
  }

  close() {
    this.#db.close();
  }

  #append(tenantId, type, data) {
    const values = [`evt-${randomUUID()}`, tenantId, type, JSON.stringify(data)];
    this.#run('INSERT INTO outbox (id, tenant_id, type, data) VALUES (?, ?, ?, ?)', ...values);
  }

  #newLogin(tenantId) {
    const token = randomBytes(32).toString('base64url');
    this.#run('INSERT INTO logins VALUES (?, ?)', token, tenantId);
    return token;
  }

  #transaction(act) {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      act();
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #run(sql, ...values) {
    this.#db.prepare(sql).run(...values);
  }

  #get(sql, ...values) {
    return this.#db.prepare(sql).get(...values);
  }

  #all(sql, ...values) {
    return this.#db.prepare(sql).all(...values);
  }
}

function hash(password, salt = randomBytes(16).toString('base64url')) {
  return `${salt}.${scryptSync(password, salt, 32).toString('base64url')}`;
}

function isHashOf(stored, password) {
  const [salt] = stored.split('.');
  return timingSafeEqual(Buffer.from(stored), Buffer.from(hash(password, salt)));
}
