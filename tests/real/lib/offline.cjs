// SPDX-License-Identifier: Apache-2.0 OR MIT
// Loaded into every node server (NODE_OPTIONS=--require): names beyond this machine do not resolve and addresses beyond
// it do not connect. Some servers report home or fetch a browser when they start, and what they say about it would
// depend on the machine's network.

'use strict';

const dns = require('node:dns');
const net = require('node:net');

const local = /^(localhost|127\.|::1$)/;

function refusal(host) {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), {
    errno: -3008,
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
    hostname: host,
  });
}

const lookup = dns.lookup;
dns.lookup = function offlineLookup(host, ...rest) {
  if (local.test(host)) return lookup.call(dns, host, ...rest);
  process.nextTick(rest[rest.length - 1], refusal(host));
  return {};
};

const promised = dns.promises.lookup;
dns.promises.lookup = (host, ...rest) =>
  local.test(host) ? promised.call(dns.promises, host, ...rest) : Promise.reject(refusal(host));

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function offlineConnect(...args) {
  const options = Array.isArray(args[0]) ? args[0][0] : args[0];
  const host = options?.host;
  if (host && net.isIP(host) && !local.test(host)) {
    process.nextTick(() => this.destroy(refusal(host)));
    return this;
  }
  return connect.apply(this, args);
};
