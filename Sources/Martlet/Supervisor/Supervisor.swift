import EventLoop
import Telemetry
import Worker

#if canImport(Glibc)
  import Glibc
#endif

/// Runs several worker processes, starts one again when it ends, and ends with them.
///
/// ``Supervision`` decides; this starts, signals and waits. Commands go through each process' ``Channel``. A worker process that
/// loses its supervisor stops by itself.
@EventLoop
final class Supervisor {
  /// The one of this process.
  private static var current: Supervisor?

  /// Time beside the grace in which a process hands its jobs back. One that takes longer hangs.
  private static let handBackTime = Duration.seconds(30)

  private let log: Log
  private let shutdownGrace: Duration
  private let group: WorkerGroup
  private let admin: AdminServer?
  private var supervision: Supervision
  private var restarts: [Int: LoopTimer] = [:]
  /// Ends the processes that do not end by themselves.
  private var deadline: LoopTimer?
  private var exit: CheckedContinuation<ExitCode, Never>?

  /// Throws if the admin address cannot be used.
  init(_ configuration: WorkerConfiguration, count: Int, log: Log) throws {
    self.log = log
    shutdownGrace = configuration.shutdownGrace
    let group = WorkerGroup(count: count)
    self.group = group
    supervision = Supervision(count: count)
    admin = try configuration.adminAddress.map { address in
      try AdminServer(address: address, log: log) { path, respond in group.answer(path, respond) }
    }
  }

  /// Whether these words of the command line ask for a supervisor. It needs SIGCHLD.
  nonisolated static func isWanted(by words: [String]) -> Bool {
    words.first == WorkerCommand.name && words.contains { $0 == "--processes" || $0.hasPrefix("--processes=") }
  }

  /// For SIGCHLD.
  static func childEnded() { current?.reap() }

  /// Returns when all processes have ended: after a signal, or because one reports that its configuration is invalid.
  func run() async throws -> ExitCode {
    try admin?.start()
    Supervisor.current = self
    log.info("supervisor starts", ["processes": .init(supervision.count), "pid": .init(getpid())])
    Reload.use({ [weak self] in self?.reload() }, log: log)
    let code = await withCheckedContinuation { exit in
      self.exit = exit
      perform(supervision.begin())
      Termination.use { [weak self] in self?.stop() }
    }
    await admin?.stop()
    log.info("supervisor stopped", ["code": .init(code.rawValue)])
    return code
  }

  private func stop() {
    if !supervision.isStopping { log.info("supervisor stops its worker processes") }
    perform(supervision.stop())
  }

  /// Processes that do not end in time are killed.
  private func limitEnd(to time: Duration) {
    deadline = .after(time) { [weak self] in
      guard let self else { return }
      self.log.error("worker processes do not end and are killed", ["seconds": .init(time.components.seconds)])
      self.perform(self.supervision.overdue())
    }
  }

  private func reload() {
    log.info("SIGHUP: passed on to the worker processes")
    for process in group.running { process.reload() }
  }

  private func perform(_ actions: [Supervision.Action]) {
    for action in actions {
      switch action {
      case .start(let place): start(place, isRestart: false)
      case .restart(let place, let delay, let attempt): restart(place, after: delay, attempt: attempt)
      case .stop(let place):
        if deadline == nil { limitEnd(to: shutdownGrace + Supervisor.handBackTime) }
        group[place]?.stop()
      case .hurry(let place):
        limitEnd(to: Supervisor.handBackTime)
        group[place]?.hurry()
      case .kill(let place): group[place]?.kill()
      case .exit(let code):
        exit?.resume(returning: code)
        exit = nil
      }
    }
  }

  private func start(_ place: Int, isRestart: Bool) {
    do throws(StartError) {
      let process = try WorkerProcess()
      group.add(process, at: place, isRestart: isRestart)
      log.info("worker process started", ["process": .init(place + 1), "pid": .init(process.pid)])
      perform(supervision.started(place, now: Clock.monotonicNanoseconds))
    } catch {
      log.error(
        "worker process could not be started", ["process": .init(place + 1), "error": .init(error.description)])
      ended(place, .notStarted)
    }
  }

  private func restart(_ place: Int, after delay: Duration, attempt: Int) {
    log.info(
      "worker process will be started again",
      ["process": .init(place + 1), "attempt": .init(attempt), "inMilliseconds": .init(delay.milliseconds)])
    restarts[place] = .after(delay) { [weak self] in
      guard let self else { return }
      self.restarts[place] = nil
      if self.supervision.wantsRestart(of: place) { self.start(place, isRestart: true) }
    }
  }

  /// Waits for every child that has ended; as process 1 of a container also for children of others.
  private func reap() {
    var status: Int32 = 0
    while true {
      let pid = waitpid(-1, &status, WNOHANG)
      if pid < 0, errno == EINTR { continue }
      guard pid > 0 else { return }
      guard let place = group.remove(pid: pid) else { continue }
      let signal = status & 0x7f
      let end: Supervision.End = signal == 0 ? .code(status >> 8 & 0xff) : .signal(signal)
      report(end, of: place, pid)
      ended(place, end)
    }
  }

  private func ended(_ place: Int, _ end: Supervision.End) {
    let random = Double.random(in: 0...1)
    perform(supervision.ended(place, end, now: Clock.monotonicNanoseconds, random: random))
  }

  private func report(_ end: Supervision.End, of place: Int, _ pid: pid_t) {
    switch end {
    case .code(let code):
      let fields: KeyValuePairs<String, Log.Field> = [
        "process": .init(place + 1), "pid": .init(pid), "code": .init(code),
      ]
      if end.isClean { log.info("worker process ended", fields) } else { log.error("worker process failed", fields) }
    case .signal(let signal):
      log.error(
        "worker process was killed", ["process": .init(place + 1), "pid": .init(pid), "signal": .init(signal)])
    case .notStarted: break
    }
  }
}
