import DashboardSupport
import Events
import HTTPServer
import Jobs
import Operations
import PushModel
import Redis
import Testing

@testable import Dashboard
@testable import Operations
@testable import Queue

/// What the overview says first. Times are unix milliseconds.
struct FleetFindingTests {
  private let now: Int64 = 1_000_000_000_000

  private func report() -> WorkerReport {
    WorkerReport(startedAt: 1, jobs: 1, jobsPerSecond: 10, outstanding: 0, inFlight: 0, concurrency: 512)
  }

  private func queue(waiting: Int64, since: Int64? = nil) -> QueueOverview {
    QueueOverview(
      queue: "push:jobs", waiting: waiting, retry: 0, scheduled: 0, dead: 0, workers: [:], waitingSince: since)
  }

  private func findings(_ state: FleetState) -> [Finding] {
    state.findings(now: now)
  }

  private var healthy: FleetState {
    var state = FleetState()
    state.workers = ["a": report()]
    state.queues = [queue(waiting: 0)]
    state.servers = [ServerInfo("maxmemory_policy:noeviction\r\nmaxmemory:1000\r\nused_memory:10\r\n")]
    return state
  }

  @Test func `a fleet without backlog and trouble has no finding`() { #expect(findings(healthy) == []) }

  @Test func `without workers waiting jobs are a fault, and an empty queue is a warning`() {
    var state = healthy
    state.workers = [:]
    #expect(findings(state).map(\.severity) == [.warning])
    state.queues = [queue(waiting: 3)]
    #expect(findings(state).first?.severity == .problem)
    #expect(findings(state).first?.text.contains("3 jobs wait") == true)
  }

  @Test func `a paused route comes before warnings and has the fix of its reason`() {
    var state = healthy
    var worker = report()
    worker.pausedRoutes = [
      RouteNotice(environment: .production, topic: "com.a", reason: "InvalidProviderToken", since: now - 60_000)
    ]
    worker.stoppedRemovals = [RouteNotice(environment: .sandbox, topic: "com.b", reason: "BadDeviceToken", since: now)]
    state.workers = ["a": worker, "b": worker]
    state.queues = [queue(waiting: 1, since: now - 120_000)]
    let found = findings(state)
    #expect(found.map(\.severity) == [.problem, .warning, .warning])
    #expect(found[0].fix == PushReason.of("InvalidProviderToken").fix)
    #expect(found[0].text.contains("com.a (production)") && found[0].text.contains("1 min"))
    #expect(state.pausedRoutes.first?.workers == 2)
    #expect(found[1].fix == PushReason.fixOfStoppedRemoval)
  }

  @Test func `a gateway that no worker reaches is a fault, and one that some reach a warning`() {
    func worker(_ state: AppState.Gateway.State) -> WorkerReport {
      let url = "https://api.push.apple.com"
      let gateway = AppState.Gateway(environment: .production, url: url, connections: 2, state: state)
      var report = report()
      report.appStates = [AppState(bundleIDs: ["com.a"], team: "TEAM123456", keys: [], gateways: [gateway])]
      return report
    }
    var state = healthy
    state.workers = ["a": worker(.unreachable), "b": worker(.unreachable)]
    #expect(findings(state).map(\.severity) == [.problem])
    #expect(findings(state).first?.text == "2 of 2 workers cannot reach https://api.push.apple.com for com.a.")
    state.workers["b"] = worker(.connected)
    #expect(findings(state).map(\.severity) == [.warning])
    #expect(state.gateways.map(\.connections) == [4])
  }

  @Test func `a key that APNs refuses is a fault unless another one signs`() {
    func worker(_ keys: AppState.Key...) -> WorkerReport {
      var report = report()
      report.appStates = [AppState(bundleIDs: ["com.a"], team: "TEAM123456", keys: keys)]
      return report
    }
    var state = healthy
    state.workers = ["a": worker(AppState.Key(id: "KEY1", state: .refused))]
    #expect(findings(state).map(\.severity) == [.problem])
    state.workers = ["a": worker(AppState.Key(id: "KEY1", state: .refused), AppState.Key(id: "KEY2", state: .signs))]
    #expect(findings(state).map(\.severity) == [.warning])
  }

  @Test func `what a part reports is among the findings`() {
    var state = healthy
    state.partFindings = [Finding(.warning, "It does not work.", fix: "repair it")]
    #expect(findings(state).map(\.severity) == [.warning])
  }

  @Test func `a Redis that is full, evicts or cannot write is a fault`() {
    for info in [
      "maxmemory_policy:noeviction\nmaxmemory:100\nused_memory:95", "maxmemory_policy:allkeys-lru\nmaxmemory:100",
      "aof_enabled:1\naof_last_write_status:err",
    ] {
      var state = healthy
      state.servers = [ServerInfo(info)]
      #expect(findings(state).map(\.severity) == [.problem], "\(info)")
    }
    var unlimited = healthy
    unlimited.servers = [ServerInfo("maxmemory_policy:allkeys-lru\nmaxmemory:0\nused_memory:95")]
    #expect(findings(unlimited) == [])
  }

  @Test func `many unusual refusals are a warning with the meaning of the reason, usual ones are none`() {
    var state = healthy
    var bucket = CounterBucket(start: 0, seconds: 60)
    bucket.read("pushes:accepted", "100")
    bucket.read("pushes:failed", "50")
    bucket.read("refused:Unregistered", "50")
    state.minutes = [bucket]
    #expect(findings(state) == [])
    bucket.read("refused:BadDeviceToken", "30")
    state.minutes = [bucket]
    #expect(findings(state).first?.text.contains("BadDeviceToken") == true)
    #expect(findings(state).first?.fix?.contains("APNS_USE_SANDBOX") == true)
  }

  @Test func `dead letters of the last hour are a warning`() {
    var state = healthy
    var bucket = CounterBucket(start: 0, seconds: 60)
    bucket.read("jobs:dead", "2")
    state.minutes = [bucket]
    #expect(findings(state).map(\.text) == ["2 jobs became dead letters in the last hour."])
  }

  @Test func `a paused queue is named with who paused it, and its wait is no second finding`() {
    var state = healthy
    var paused = queue(waiting: 5, since: now - 3_600_000)
    paused.pause = QueuePause(since: now - 60_000, by: "anna", reason: "a <bad> deploy")
    state.queues = [paused]
    #expect(findings(state).map(\.severity) == [.warning])
    #expect(findings(state).first?.text == "push:jobs was paused by anna 1 min ago: a <bad> deploy. 5 jobs wait.")
  }

  @Test func `a fleet of which every worker is drained is a fault`() {
    var state = healthy
    var worker = report()
    worker.isDraining = true
    state.workers = ["a": worker]
    #expect(findings(state).map(\.severity) == [.problem])
    state.workers["b"] = report()
    #expect(findings(state) == [])
  }

  @Test func `a wait of a minute is a warning, and an unknown one is none`() {
    var state = healthy
    state.queues = [queue(waiting: 5, since: now - 59_000)]
    #expect(findings(state) == [])
    state.queues = [queue(waiting: 5, since: nil)]
    #expect(findings(state) == [])
    state.queues = [queue(waiting: 5, since: now - 61_000)]
    #expect(findings(state).count == 1)
  }
}
