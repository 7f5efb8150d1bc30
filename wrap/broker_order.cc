// SPDX-License-Identifier: Apache-2.0 OR MIT
// See broker_order.h.
#include "wrap/broker_order.h"

#include <chrono>
#include <string>
#include <utility>

#include "wrap/broker_answers.h"

namespace aegis::wrap {
namespace {

using confine::PathFault;
using confine::SandboxOrder;
using mcp::Refused;

/// Runs the code that comes on stdin, which may be larger than one word of an argv
/// (MAX_ARG_STRLEN, 128 KiB), as __main__; its stdin is empty then. What nobody catches is told
/// with its lines, as of a script, without the frames of this.
constexpr const char* kRunCode = R"(import sys
def run(main, name='<code>'):
    text = sys.stdin.buffer.read().decode()
    def tell(kind, error, trace):
        import linecache, traceback
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        while trace and trace.tb_frame.f_code.co_filename == '<string>':
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)
    sys.excepthook = tell
    del main['run'], main['sys']
    exec(compile(text, name, 'exec'), main)
run(globals())
)";

SandboxOrder common_order(const BrokerWorld& world, const policy::Permit& permit) {
  constexpr unsigned kMebibyte = 20;
  const policy::BrokerPolicy::Execution& execution = world.policy().execution;
  SandboxOrder order;
  order.workspace = &world.workspace();
  order.bounds.time = std::chrono::seconds(permit.timeout_seconds);
  order.bounds.output = execution.max_output_bytes;
  order.bounds.memory = execution.max_memory_mb << kMebibyte;
  return order;
}

}  // namespace

Ordered order_python(const BrokerWorld& world,
                     const mcp::RunPython& run,
                     const policy::Permit& permit) {
  if (!world.python()) {
    return refuse_unbuilt(std::string(kPython) +
                          " is not there (Debian: apt-get install python3-minimal)");
  }
  SandboxOrder order = common_order(world, permit);
  order.program = world.python()->grant.path;
  order.binaries = {*world.python()};
  order.is_left_out = [&world](std::string_view path) { return world.is_hidden(path); };
  // Unbuffered, so that what was printed before a time-out is there to be told.
  order.argv = {kPython, "-I", "-u"};
  if (run.code) {
    order.argv.insert(order.argv.end(), {"-c", kRunCode});
    order.input = *run.code;
  } else {
    // Python's own words about a file that it cannot open would tell less.
    const auto script = world.workspace().read(permit.path, 1);
    if (const auto* fault = std::get_if<PathFault>(&script))
      return world.refuse(permit.path, *fault, Wanted::script);
    order.argv.push_back(std::string(confine::kWorkspacePlace) + "/" + permit.path);
  }
  order.argv.insert(order.argv.end(), run.arguments.begin(), run.arguments.end());
  return order;
}

Ordered order_command(const BrokerWorld& world,
                      const mcp::RunCommand& run,
                      const policy::Permit& permit) {
  const auto& program = world.binaries().file(permit.binary);
  if (!program) {
    return Refused{mcp::BrokerCode::operation_not_permitted, "there is no such program here"};
  }
  if (!world.binaries().lacking(permit.binary).empty()) {
    return Refused{
        mcp::BrokerCode::operation_not_permitted,
        "the program is a script, and the policy does not list what it is for (the "
        "interpreter in its first line); use another program, or ask the user to list it"};
  }
  if (auto refused = world.refuse_lending(permit.writable)) return *std::move(refused);
  SandboxOrder order = common_order(world, permit);
  order.program = program->grant.path;
  order.binaries = world.binaries().files();
  order.argv = run.argv;
  order.argv.front() = world.binaries().name(permit.binary);
  order.writable = permit.writable;
  if (!order.writable.empty()) order.home = world.home();
  order.is_left_out = [&world](std::string_view path) {
    return world.is_hidden_from_commands(path);
  };
  return order;
}

}  // namespace aegis::wrap
