import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Configuration } from '../base/configuration.ts';
import { dataDirectoryOf, readConfiguration } from './configuration-layers.ts';
import { TestEnvironment } from './test-environment.ts';

async function withFile(text: string, name = '/here/weir.yaml'): Promise<TestEnvironment> {
  const environment = new TestEnvironment();
  await environment.fileSystem.makeDirectory('/here/conf');
  await environment.writeFile(name, text);
  return environment;
}

function read(
  environment: TestEnvironment,
  properties: readonly string[] = [],
  file: string | null = null,
): Promise<Configuration> {
  return readConfiguration(environment, { file, properties });
}

test('weir.yaml is read when it is there, with nested and dotted keys', async () => {
  const environment = await withFile(
    'parallelism.default: 3\nexecution:\n  checkpointing:\n    interval: 5s\n    timeout: 1 min\n',
  );
  const configuration = await read(environment);
  assert.equal(configuration.get('parallelism.default'), 3);
  assert.equal(configuration.get('execution.checkpointing.interval'), 5000);
  assert.equal(configuration.get('execution.checkpointing.timeout'), 60_000);
  assert.equal(configuration.originOf('parallelism.default'), 'weir.yaml');
});

test('without weir.yaml nothing is set', async () => {
  assert.deepEqual((await read(new TestEnvironment())).keys(), []);
});

test('an empty file sets nothing', async () => {
  assert.deepEqual((await read(await withFile('# nothing yet\n'))).keys(), []);
});

test('-D wins over the file', async () => {
  const environment = await withFile('parallelism.default: 3\npipeline.max-parallelism: 64\n');
  const configuration = await read(environment, ['parallelism.default=5']);
  assert.equal(configuration.get('parallelism.default'), 5);
  assert.equal(configuration.get('pipeline.max-parallelism'), 64);
});

test('a key alone behind -D means true', async () => {
  const key = 'execution.state-recovery.allow-older';
  assert.equal((await read(new TestEnvironment(), [key])).get(key), true);
});

test('--config reads that file and not weir.yaml', async () => {
  const environment = await withFile('parallelism.default: 3\n');
  await environment.writeFile('/here/conf/other.yaml', 'pipeline.max-parallelism: 64\n');
  const configuration = await read(environment, [], 'conf/other.yaml');
  assert.deepEqual(configuration.keys(), ['pipeline.max-parallelism']);
});

test('a file that --config names must exist', async () => {
  const error = { code: 'ARGUMENT_INVALID', message: /no configuration file gone\.yaml/ };
  await assert.rejects(read(new TestEnvironment(), [], 'gone.yaml'), error);
});

test('what is wrong in the file is told with its name', async () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['a: [1\nb: }', /^weir\.yaml is not valid YAML: .*line 2/],
    ['- 1\n- 2\n', /^weir\.yaml must hold settings/],
    ['paralelism.default: 1', /paralelism\.default \(weir\.yaml\).*did you mean "parallelism\./],
    ['parallelism.default: many', /parallelism\.default.*many.*weir\.yaml|weir\.yaml.*many/],
    ['parallelism.default: 1\nparallelism.default: 2', /unique/],
  ];
  for (const [text, message] of cases)
    await assert.rejects(read(await withFile(text)), { code: 'CONFIG_INVALID', message });
});

test('the data folder: -D, then the variable, then the file, then .weir', async () => {
  const environment = await withFile('weir.data-dir: from-file\n');
  const key = 'weir.data-dir';
  assert.equal(dataDirectoryOf(await read(new TestEnvironment()), environment), '/here/.weir');
  assert.equal(dataDirectoryOf(await read(environment), environment), '/here/from-file');
  environment.variables['WEIR_DATA_DIR'] = '/var/weir';
  assert.equal(dataDirectoryOf(await read(environment), environment), '/var/weir');
  const given = await read(environment, [`${key}=file:///mnt/weir`]);
  assert.equal(dataDirectoryOf(given, environment), '/mnt/weir');
});

test('a data folder on another machine is refused', async () => {
  const environment = new TestEnvironment();
  environment.variables['WEIR_DATA_DIR'] = 's3://bucket/weir';
  const configuration = await read(environment);
  assert.throws(() => dataDirectoryOf(configuration, environment), /WEIR_DATA_DIR: s3:.*folder/);
});
