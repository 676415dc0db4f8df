import Foundation
import Glibc
import Synchronization

/// Starts programs from one thread that lives as long as the process.
///
/// The kernel's "signal when the parent dies" means the parent THREAD, and the threads of Dispatch and of the
/// cooperative pool come and go.
enum Spawner {
  private struct Order: Sendable {
    let program: Program
    let answer: @Sendable (Result<pid_t, SpawnFailure>) -> Void
  }

  /// What to start; descriptors stay the caller's.
  struct Program: Sendable {
    let path: String
    let arguments: [String]
    let environment: [String: String]
    let input: Int32
    let output: Int32
    let error: Int32
  }

  private static let orders = OrderQueue<Order>()
  private static let thread: Void = Thread.detachNewThread {
    while true {
      let order = orders.take()
      order.answer(spawn(order.program))
    }
  }

  static func start(_ program: Program) throws(SpawnFailure) -> pid_t {
    _ = thread
    let answers = OrderQueue<Result<pid_t, SpawnFailure>>()
    orders.put(Order(program: program) { answers.put($0) })
    return try answers.take().get()
  }

  private static func spawn(_ program: Program) -> Result<pid_t, SpawnFailure> {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (target, source) in [program.input, program.output, program.error].enumerated() {
      posix_spawn_file_actions_adddup2(&actions, source, Int32(target))
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let words = ["setpriv", "--pdeathsig", "KILL", "--", program.path] + program.arguments
    let arguments = words.map { strdup($0) } + [nil]
    let environment = program.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in arguments + environment { free(text) } }
    var pid: pid_t = 0
    let code = posix_spawnp(&pid, "setpriv", &actions, &attributes, arguments, environment)
    return code == 0 ? .success(pid) : .failure(SpawnFailure(program: program.path, code: code))
  }
}

struct SpawnFailure: Error, CustomStringConvertible {
  let program: String
  let code: Int32

  var description: String { "cannot start \(program): \(String(cString: strerror(code)))" }
}
