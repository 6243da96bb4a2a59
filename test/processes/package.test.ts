/** The package as it is published: packed, installed by npm into an empty project, used there. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import type { SpawnSyncReturns } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { codeBlocks } from '../package/code-blocks.ts';
import { jobsOfPages } from '../package/documented-jobs.ts';
import { packCore, ROOT, userEnvironment } from '../package/installed-package.ts';

const project = mkdtempSync(join(tmpdir(), 'weir-project-'));
const weir = join(project, 'node_modules/.bin/weir');

before(() => {
  const tarball = packCore(join(project, 'packed'));
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  execFileSync('npm', ['install', tarball], {
    cwd: project,
    env: userEnvironment(),
    stdio: 'pipe',
  });
});
after(() => rmSync(project, { recursive: true, force: true }));

function run(command: string, args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(command, args, { cwd: project, env: userEnvironment(), encoding: 'utf8' });
}

test('the installed command runs a job on two threads', () => {
  writeFileSync(join(project, 'input.txt'), 'To be, or not to be\n'.repeat(50));
  const job = join(ROOT, 'examples/word-count.ts');
  writeFileSync(join(project, 'word-count.ts'), readFileSync(job));
  const args = ['run', '-p', '2', 'word-count.ts', '--input', 'input.txt', '--output', 'counts'];
  const { status, stdout, stderr } = run(weir, args);
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /^job word-count: no earlier run, starts empty\n/);
  const written = globSync(join(project, 'counts/part-*'))
    .flatMap((path) => readFileSync(path, 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as { word: string; count: number });
  assert.equal(written.length, 300);
  assert.equal(Math.max(...written.map(({ count }) => count)), 100);
});

test('whatever the package exports can be imported', () => {
  const path = join(project, 'node_modules/@weir/core/package.json');
  const { exports } = JSON.parse(readFileSync(path, 'utf8')) as { exports: object };
  const names = Object.keys(exports).filter((name) => !name.endsWith('.json'));
  assert.ok(names.length >= 2);
  for (const name of names) {
    const code = `await import('@weir/core${name.slice(1)}')`;
    const { status, stderr } = run(process.execPath, ['--input-type=module', '--eval', code]);
    assert.equal(status, 0, `${name}: ${stderr}`);
  }
});

test('the package holds neither tests nor their fixtures', () => {
  const files = globSync('**/*', { cwd: join(project, 'node_modules/@weir/core') });
  assert.ok(files.includes('bin/weir.js'), 'looked in the wrong folder');
  assert.deepEqual(
    files.filter((file) => /test|fixture/.test(file)),
    [],
  );
});

/** An old Node of this machine, or this one that says it is old. */
function oldNode(): readonly string[] {
  const found = ['/usr/bin/node', '/usr/local/bin/node'].find((path) =>
    /^v(1\d|2[01])\./.test(run(path, ['--version']).stdout ?? ''),
  );
  if (found !== undefined) return [found];
  const versions = "{ value: { ...process.versions, node: '20.20.2' } }";
  const pretend = `Object.defineProperty(process, 'versions', ${versions})`;
  return [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(pretend)}`];
}

test('on an old Node the command says in one line which one it needs', () => {
  const [command = '', ...options] = oldNode();
  const { status, stdout, stderr } = run(command, [...options, weir, 'run', 'word-count.ts']);
  assert.equal(stdout, '');
  assert.match(stderr, /^weir needs Node 22\.22 or newer, this is Node \d+\.\d+\.\d+: .+\n$/);
  assert.equal(status, 2);
});

test('the jobs of README and guides fit the package, and their graphs are sound', () => {
  const jobs = jobsOfPages(globSync('{README.md,docs/guide/*.md}', { cwd: ROOT }));
  for (const { name, code } of jobs) writeFileSync(join(project, name), code);
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    module: 'nodenext',
    target: 'es2024',
    types: [],
    noEmit: true,
  };
  const config = { compilerOptions, files: jobs.map(({ name }) => name) };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const types = run(process.execPath, [compiler]);
  assert.equal(types.status, 0, types.stdout + types.stderr);

  assert.ok(jobs.length >= 10, `only ${jobs.length} blocks were found`);
  for (const { name, page } of jobs.filter(({ isJob }) => isJob)) {
    const { status, stdout, stderr } = run(weir, [
      'explain',
      name,
      '--input',
      'i',
      '--output',
      'o',
    ]);
    assert.equal(status, 0, `${page}, as ${basename(name)}: ${stdout}${stderr}`);
  }
});

test('the configuration file that the guide shows is accepted', () => {
  const page = readFileSync(join(ROOT, 'docs/guide/configuration.md'), 'utf8');
  const [file, ...others] = codeBlocks(page).filter(({ language }) => language === 'yaml');
  assert.deepEqual(others, []);
  writeFileSync(join(project, 'shown.yaml'), file?.text ?? '');
  const job = ['word-count.ts', '--input', 'i', '--output', 'o'];
  const { status, stderr } = run(weir, ['explain', '--config', 'shown.yaml', ...job]);
  assert.equal(status, 0, stderr);
});
