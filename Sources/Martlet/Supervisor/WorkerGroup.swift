import EventLoop
import HTTPServer
import Telemetry
import Worker

/// The worker processes of a supervisor, and what they answer together on its admin port.
@EventLoop
final class WorkerGroup {
  /// Time in which a process must answer. One that does not is left out, and reported as silent.
  private static let metricsTimeout = Duration.seconds(2)
  private static let readinessTimeout = Duration.seconds(1)

  let metrics = Metrics()
  private let count: Int
  /// By place.
  private var processes: [Int: WorkerProcess] = [:]
  private var page = GroupMetrics()
  /// Those that did not answer the last question for metrics.
  private var silent: Set<Int> = []
  private let restarts: Counter
  /// Those who wait for the answer to a question that is under way, by path.
  private var waiting: [String: [@EventLoop (HTTPResponse) -> Void]] = [:]

  init(count: Int) {
    self.count = count
    metrics.addProcess(version: Version.current)
    restarts = metrics.counter(
      "martlet_worker_process_restarts_total", help: "Worker processes that were started again after they ended.")
    metrics.gauge(
      "martlet_worker_processes", labels: ["state"],
      help: "Worker processes of this supervisor: running, silent (do not answer), or waiting for a restart."
    ) { [weak self] in
      self?.samples ?? []
    }
  }

  private var samples: [([String], Double)] {
    let silent = silent.count { processes[$0] != nil }
    return [
      (["running"], Double(processes.count - silent)), (["silent"], Double(silent)),
      (["waiting"], Double(count - processes.count)),
    ]
  }

  subscript(place: Int) -> WorkerProcess? { processes[place] }

  var running: [WorkerProcess] { Array(processes.values) }

  func add(_ process: WorkerProcess, at place: Int, isRestart: Bool) {
    processes[place] = process
    if isRestart { restarts.increment() }
  }

  /// Removes the process with this id, which has ended, and returns its place. Nil if it is none of the group.
  func remove(pid: Int32) -> Int? {
    guard let (place, process) = processes.first(where: { $0.value.pid == pid }) else { return nil }
    processes[place] = nil
    silent.remove(place)
    page.remove(place)
    process.ended()
    return place
  }

  /// Responds with what the group answers at a path of the admin port.
  func answer(_ path: String, _ respond: @escaping @EventLoop (HTTPResponse) -> Void) {
    switch path {
    case AdminServer.metricsPath:
      collect(path, WorkerGroup.metricsTimeout, respond) { [weak self] in self?.metrics($0) }
    case AdminServer.readinessPath:
      collect(path, WorkerGroup.readinessTimeout, respond) { [weak self] in self?.readiness($0) }
    default: respond(AdminServer.response(to: path))
    }
  }

  /// Asks every process at once. Several requests for one path share the answers.
  private func collect(
    _ path: String, _ timeout: Duration, _ respond: @escaping @EventLoop (HTTPResponse) -> Void,
    _ merge: @escaping @EventLoop ([Int: WorkerProcess.Answer]) -> HTTPResponse?
  ) {
    waiting[path, default: []].append(respond)
    guard waiting[path]?.count == 1 else { return }
    let asked = processes
    var answers: [Int: WorkerProcess.Answer] = [:]
    var left = asked.count
    let finish: @EventLoop () -> Void = { [weak self] in
      // A process may have ended meanwhile, and another may have its place.
      guard let self, let response = merge(answers.filter { self.processes[$0.key] === asked[$0.key] }) else { return }
      for respond in self.waiting.removeValue(forKey: path) ?? [] { respond(response) }
    }
    guard left > 0 else { return finish() }
    for (place, process) in asked {
      process.ask(path, timeout: timeout) { answer in
        answers[place] = answer
        left -= 1
        if left == 0 { finish() }
      }
    }
  }

  private func metrics(_ answers: [Int: WorkerProcess.Answer]) -> HTTPResponse {
    silent = Set(processes.keys).subtracting(answers.keys)
    let texts = answers.mapValues { String(decoding: $0.body, as: UTF8.self) }
    return AdminServer.metricsResponse(page.merge(texts, own: metrics.prometheusText()))
  }

  private func readiness(_ answers: [Int: WorkerProcess.Answer]) -> HTTPResponse {
    let states = (0..<count).map { place -> GroupReadiness.State in
      guard processes[place] != nil else { return .waiting }
      return answers[place].map { .answered(status: $0.status, body: $0.body) } ?? .silent
    }
    return GroupReadiness(states: states).response
  }
}
