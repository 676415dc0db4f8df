import EventLoop
import Glibc
import TestSupport

/// A place in the fleet: a worker that is started again when it was ended, and the proxies between it and the others.
@EventLoop
final class Seat {
  /// A worker that was taken for dead learns it when it next reaches Redis, at most this long ago.
  private static let fencedNanoseconds: UInt64 = 40_000_000_000

  let number: Int
  /// Nil if the worker finds Redis by itself.
  let redis: FaultProxy?
  let apns: FaultProxy
  /// Has no faults.
  let sandbox: FaultProxy
  /// The file that sets the worker's clock; nil if it has the machine's.
  let clock: FakeClock?
  private let environment: [String: String]
  private var process: ChildProcess
  private var fencings = 0
  /// The run ends the worker at present.
  private var isEnding = false
  private var log: [String] = []
  private(set) var incidents: [Incident] = []
  /// What it did without being told to.
  private(set) var surprises: [String] = []

  init(
    _ number: Int, redis: FaultProxy?, apns: FaultProxy, sandbox: FaultProxy, clock: FakeClock?,
    environment: [String: String]
  ) throws {
    self.number = number
    self.redis = redis
    self.apns = apns
    self.sandbox = sandbox
    self.clock = clock
    self.environment = environment.merging(clock?.environment ?? [:]) { $1 }
    process = try Seat.start(self.environment)
  }

  var pid: Int32 { process.pid }
  var lines: [String] { log + process.lines }

  func kill() async throws {
    observe()
    isEnding = true
    let begin = Clock.unixNanoseconds
    process.signal(SIGKILL)
    try await process.exit()
    add(.death, from: begin)
    try replace()
  }

  /// SIGTERM.
  func stop(andStart isStartedAgain: Bool) async throws {
    observe()
    isEnding = true
    // Before its first line a process may not listen to signals yet: it would end by this one.
    _ = try? await process.line("anything") { @Sendable _ in true }
    let code = try await process.stop()
    observe()
    if code != 0 { surprises.append("worker \(number) ended with \(code) on SIGTERM") }
    if isStartedAgain { try replace() }
  }

  func freeze(for duration: Duration) async throws {
    let begin = Clock.unixNanoseconds
    process.signal(SIGSTOP)
    try await Task.sleep(for: duration)
    process.signal(SIGCONT)
    add(.lostLease, from: begin)
  }

  /// The worker may lose answers of APNs until the returned closure is called.
  func loseAnswers() -> @EventLoop () -> Void {
    let begin = Clock.unixNanoseconds
    return { [self] in add(.uncertainty, from: begin) }
  }

  /// Takes note of what the worker has logged, and of its end. To be called often.
  func observe() {
    let count = process.lines.count { $0.contains("fenced: the fleet took this worker for dead") }
    if count > fencings {
      fencings = count
      add(.lostLease, from: Clock.unixNanoseconds - Seat.fencedNanoseconds)
    }
  }

  /// Starts the worker again if it has ended by itself.
  func revive() throws {
    guard !isEnding, let code = process.exitCode else { return }
    surprises.append("worker \(number) ended by itself with \(code): \(process.lines.last ?? "")")
    try replace()
  }

  private func add(_ cause: Incident.Cause, from begin: UInt64) {
    incidents.append(Incident(cause: cause, worker: number, begin: begin, end: Clock.unixNanoseconds))
  }

  private func replace() throws {
    log += process.lines
    fencings = 0
    isEnding = false
    process = try Seat.start(environment)
  }

  private static func start(_ environment: [String: String]) throws -> ChildProcess {
    try ChildProcess(try builtProduct("martlet"), ["worker"], environment: environment)
  }
}
