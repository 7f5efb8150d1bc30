// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a confined node must still be able to do; the working directory may be written. Says a line for each:
// `<name> works` or `<name> fails <why>`. No package but node's own.
import assert from 'node:assert'
import { execFile, fork, spawn, spawnSync } from 'node:child_process'
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'
import dns from 'node:dns/promises'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import zlib from 'node:zlib'

const all = {
  async worker_threads() {
    const shared = new SharedArrayBuffer(4)
    const body = "const { workerData } = require('worker_threads'); Atomics.add(new Int32Array(workerData), 0, 1)"
    await Promise.all([1, 2, 3].map(() => once(new Worker(body, { eval: true, workerData: shared }), 'exit')))
    assert.equal(new Int32Array(shared)[0], 3)
  },
  compiled_code() {
    let sum = 0
    for (let i = 0; i < 5e6; i++) sum = (sum + i * i) | 0
    assert.equal(typeof sum, 'number')
  },
  async web_assembly() {
    // (func (export "f") (result i32) i32.const 42), with a memory of one page
    const bytes = Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 5,
      1, 1, 102, 0, 0, 10, 6, 1, 4, 0, 65, 42, 11])
    const { instance } = await WebAssembly.instantiate(bytes)
    assert.equal(instance.exports.f(), 42)
  },
  async child_process() {
    const { stdout } = await promisify(execFile)('sh', ['-c', 'echo $((6 * 7))'])
    assert.equal(stdout, '42\n')
  },
  child_process_sync() {
    assert.equal(spawnSync('cat', { input: 'x'.repeat(1 << 20) }).stdout.length, 1 << 20)
  },
  async child_process_fork() {
    fs.writeFileSync('forked.cjs', "process.on('message', (m) => { process.send(m + 1); process.disconnect() })")
    const child = fork('./forked.cjs')
    child.send(1)
    assert.equal((await once(child, 'message'))[0], 2)
  },
  async signals() {
    const child = spawn('sleep', ['100'])
    child.kill('SIGTERM')
    assert.equal((await once(child, 'exit'))[1], 'SIGTERM')
  },
  async file_watch() {
    const watcher = fs.watch('.')
    const seen = once(watcher, 'change')
    fs.writeFileSync('watched-by-node', 'x')
    await seen
    watcher.close()
  },
  async files() {
    await fs.promises.writeFile('aside', 'x')
    await fs.promises.rename('aside', 'kept')
    await fs.promises.mkdir('a/b/c', { recursive: true })
    await fs.promises.rm('a', { recursive: true })
    assert.equal(await fs.promises.readFile('kept', 'utf8'), 'x')
  },
  temporary_folder() {
    assert.ok(fs.existsSync(fs.mkdtempSync(path.join(os.tmpdir(), 'works-'))))
  },
  async streams() {
    const made = fs.createWriteStream('stream.gz')
    const packer = zlib.createGzip()
    packer.pipe(made)
    packer.end('x'.repeat(1 << 20))
    await once(made, 'finish')
    assert.equal(zlib.gunzipSync(fs.readFileSync('stream.gz')).length, 1 << 20)
  },
  async cryptography() {
    assert.equal(randomBytes(8).length, 8)
    assert.equal(createHash('sha256').update('').digest('hex').slice(0, 8), 'e3b0c442')
    assert.ok(generateKeyPairSync('ed25519').privateKey)
    await crypto.subtle.digest('SHA-256', new Uint8Array(1))
  },
  languages() {
    assert.ok(new Intl.DateTimeFormat('de', { timeZone: 'Europe/Berlin' }).format(0).length > 0)
  },
  system_facts() {
    assert.ok(os.cpus().length > 0 && os.totalmem() > 0 && os.userInfo().uid === process.getuid())
  },
  async dynamic_import() {
    fs.writeFileSync('module.mjs', 'export default 5')
    assert.equal((await import(path.resolve('module.mjs'))).default, 5)
  },
  async names_fail_fast() {
    const begin = performance.now()
    await dns.lookup('works.invalid').catch(() => {})
    assert.ok(performance.now() - begin < 2000)
  },
  async unix_server() {
    const where = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'works-')), 's')
    const server = net.createServer((socket) => socket.end('hello')).listen(where)
    await once(server, 'listening')
    const client = net.connect(where)
    assert.equal(String((await once(client, 'data'))[0]), 'hello')
    server.close()
  }
}

for (const [name, each] of Object.entries(all)) {
  try {
    await Promise.race([each(), new Promise((_, no) => setTimeout(() => no(new Error('it hangs')), 10000).unref())])
    console.log(name, 'works')
  } catch (error) {
    console.log(name, 'fails', String(error.stack).split('\n')[0])
  }
}
process.exit(0)
