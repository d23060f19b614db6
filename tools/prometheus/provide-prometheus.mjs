// @ts-check
/**
 * Writes where Prometheus and promtool are, for programs of another kind to read:
 * `{"program": {"prometheus": "/…", "promtool": "/…"}}` or `{"refusal": "…"}`.
 */
import { findPrometheus } from './find-prometheus.mjs';

process.stdout.write(`${JSON.stringify(await findPrometheus())}\n`);
