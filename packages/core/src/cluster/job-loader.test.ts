import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { WeirError } from '../base/errors.ts';
import { loadJob } from './job-loader.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-loader-test-'));
write('package.json', '{ "type": "module" }');
after(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** A job file whose first line imports the engine. */
function writeJob(name: string, text: string): string {
  return write(name, `import { job } from '@weir/core';\n${text}`);
}

async function failureOf(path: string): Promise<WeirError> {
  try {
    await loadJob(path);
  } catch (error) {
    assert(error instanceof WeirError);
    assert.equal(error.code, 'JOB_NOT_LOADABLE');
    return error;
  }
  assert.fail('the job was loaded');
}

test('a TypeScript job loads from a folder without node_modules', async () => {
  const path = writeJob('plain.ts', 'type X = 1;\nexport default job("plain", () => {});');
  const { job, sourcePath, bundleUrl } = await loadJob(path);
  assert.equal(job.name, 'plain');
  assert.equal(sourcePath, path);
  assert.match(bundleUrl!, /^file:\/\/.*\/plain-[0-9a-f]{16}\.mjs$/);
});

test('a job is found by file: URI as well', async () => {
  const path = writeJob('by uri.ts', 'export default job("uri", () => {});');
  const { job, sourcePath } = await loadJob(pathToFileURL(path));
  assert.equal(job.name, 'uri');
  assert.equal(sourcePath, path);
});

test('relative imports, JSON and top-level await are part of the bundle', async () => {
  write('lib/names.ts', 'export enum Names { First = "from an enum" }');
  write('lib/data.json', '{ "suffix": "!" }');
  const path = writeJob(
    'parts.ts',
    `import { Names } from './lib/names.ts';
     import data from './lib/data.json';
     const name = await Promise.resolve(Names.First);
     export default job(name + data.suffix, () => {});`,
  );
  const { job, bundleUrl } = await loadJob(path, { bundleDirectory: join(folder, 'bundles') });
  rmSync(join(folder, 'lib'), { recursive: true });
  assert.equal(job.name, 'from an enum!');
  assert(bundleUrl!.startsWith(pathToFileURL(join(folder, 'bundles/parts-')).href));
});

test('installed packages are left to Node, TypeScript ones are bundled', async () => {
  write('node_modules/plain-js/index.js', 'exports.directory = __dirname;');
  write('node_modules/typed/package.json', '{ "exports": "./index.ts" }');
  write('node_modules/typed/index.ts', 'export const here: string = import.meta.dirname;');
  const path = writeJob(
    'packages.ts',
    `import { directory } from 'plain-js';
     import { here } from 'typed';
     export default job(directory + '|' + here, () => {});`,
  );
  const { job } = await loadJob(path);
  const modules = join(folder, 'node_modules');
  assert.equal(job.name, `${join(modules, 'plain-js')}|${join(modules, 'typed')}`);
});

test('the engine stays one copy, by whatever path it is imported', async () => {
  const api = join(import.meta.dirname, '../api/job.ts');
  const path = writeJob(
    'by-path.ts',
    `import { job as same } from '${api}';
     import { job as internal } from '@weir/core/internal/api/job.ts';
     export default job(String(same === job && internal === job), () => {});`,
  );
  assert.equal((await loadJob(path)).job.name, 'true');
});

test('CommonJS files of the job can require packages', async () => {
  write('node_modules/answer/index.js', 'module.exports = 42;');
  write('old.cjs', 'const answer = require("answer"); module.exports = { name: "n" + answer };');
  const path = writeJob(
    'common.ts',
    'import old from "./old.cjs";\nexport default job(old.name, () => {});',
  );
  assert.equal((await loadJob(path)).job.name, 'n42');
});

test('import.meta means the source file, in each module of the bundle', async () => {
  write('deep/where.ts', 'export const where = import.meta.filename;');
  const path = writeJob(
    'meta.ts',
    `import { where } from './deep/where.ts';
     export default job(where + '|' + new URL('x.txt', import.meta.url).pathname, () => {});`,
  );
  const { job } = await loadJob(path);
  assert.equal(job.name, `${join(folder, 'deep/where.ts')}|${join(folder, 'x.txt')}`);
});

test('a stack trace from a job names the line of the TypeScript source', async () => {
  const path = writeJob(
    'throws.ts',
    `interface Unused {
       a: number;
     }
     export default job('throws', () => {
       throw new Error('here');
     });`,
  );
  const { job } = await loadJob(path);
  assert.throws(
    () => job.build(null as never),
    (error: Error) => error.stack?.includes(`${path}:6:`) === true,
  );
});

test('a missing job file is named, with the file that was perhaps meant', async () => {
  writeJob('orders.ts', 'export default job("orders", () => {});');
  const error = await failureOf(join(folder, 'order.ts'));
  assert.match(error.message, /no job file .*\/order\.ts; .*did you mean "orders\.ts"/);
});

test('a folder is refused as a job', async () => {
  assert.match((await failureOf(folder)).message, /is not a file; name the file of the job/);
});

test('a syntax error is told with file, line, column and the text of the line', async () => {
  write('lib/broken.ts', 'export const a = 1;\nexport const ü = "ä" b;');
  const path = writeJob('syntax.ts', 'import "./lib/broken.ts";\nexport default 1;');
  const error = await failureOf(path);
  assert.match(error.message, /^cannot compile the job syntax\.ts: lib\/broken\.ts:2:22: Expected/);
  assert.match(String(error.details['excerpt']), /^export const ü = "ä" b;\n {21}\^$/);
});

test('missing packages and files are told with what to do', async () => {
  const path = write('lost.ts', 'import "@none/such/sub";\nimport "./gone.ts";');
  const { message } = await failureOf(path);
  assert.match(message, /lost\.ts:1:8: cannot find the package .*npm install @none\/such\)/);
  assert.match(message, /lost\.ts:2:8: cannot find the file "\.\/gone\.ts"/);
});

test('an import from a part of the engine that does not exist names the parts', async () => {
  const path = write('part.ts', 'import "@weir/core/clusters";');
  assert.match((await failureOf(path)).message, /did you mean "@weir\/core\/cluster"/);
});

test('a job that throws while it is loaded is told with message and place', async () => {
  write('lib/setup.ts', '\n\nexport function setup(): never { throw new RangeError("too far"); }');
  const path = writeJob('early.ts', 'import { setup } from "./lib/setup.ts";\nsetup();');
  const error = await failureOf(path);
  assert.equal(error.message, 'early.ts throws while it is loaded: too far (setup.ts:3)');
  assert(error.cause instanceof RangeError);
});

test('a module without a job says what it exports and what to write', async () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['const unused = job;', /no default export \(it exports nothing\); write export default job/],
    ['export const a = 1, b = job;', /\(it exports only a, b\)/],
    ['export const main = job("m", () => {});', /"main", not as default; add: export default main/],
    ['export default () => job;', /is a function, not a job/],
    ['export default Promise.resolve(job("p", () => {}));', /is a Promise.*export default await/],
    ['export default { name: "x", build: job };', /is an object, not a job/],
  ];
  for (const [index, [text, expected]] of cases.entries())
    assert.match((await failureOf(writeJob(`none-${index}.ts`, text))).message, expected);
});

test('two jobs can be loaded at the same time', async () => {
  const paths = ['one', 'two'].map((name) =>
    writeJob(`${name}.ts`, `export default job("${name}", () => {});`),
  );
  const loaded = await Promise.all(paths.map((path) => loadJob(path)));
  assert.deepEqual(
    loaded.map(({ job }) => job.name),
    ['one', 'two'],
  );
});
