/**
 * `npm run lock`: brings package-lock.json in step with the manifests, then takes out what would
 * make an install on a fresh machine warn. That machine's Node may be older than some packages
 * demand; it only installs, and everything then runs on the Node that the lock file itself brings.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const LOCK = fileURLToPath(new URL('../../package-lock.json', import.meta.url));

interface Lock {
  readonly packages: Record<string, { engines?: unknown; link?: boolean }>;
}

execFileSync(
  'npm',
  ['install', '--package-lock-only', '--omit-lockfile-registry-resolved', '--ignore-scripts'],
  { stdio: 'inherit' },
);
const lock = JSON.parse(readFileSync(LOCK, 'utf8')) as Lock;
for (const [path, entry] of Object.entries(lock.packages))
  if (path.startsWith('node_modules/')) delete entry.engines;
writeFileSync(LOCK, `${JSON.stringify(lock, null, 2)}\n`);
