import EventLoop
import FoundationEssentials
import Redis
import TestSupport

/// One run, from the start of the fleet to the verdict.
@EventLoop
final class Run {
  /// Between two steps, even if no job can be enqueued.
  private static let gapTime = Duration.seconds(6)
  /// Retries wait for up to a minute after a few failures, a paused route for its next probe.
  private static let settleTime = Duration.seconds(900)
  private static let progressEvery = 50
  private static let watchInterval = Duration.milliseconds(250)
  private static let requeueRounds = 3

  private let plan: Plan
  private let arguments: Arguments
  private let fleet: ChaosFleet
  private let population = Population()
  private let producer: Producer
  private let movers: Movers
  private let builds: Builds
  private let state: QueueState
  private let started = ContinuousClock.now
  private var watch: LoopTimer?
  private var steps: [String] = []
  private var evidence = Evidence()

  init(_ plan: Plan, _ arguments: Arguments) async throws {
    self.plan = plan
    self.arguments = arguments
    fleet = try await ChaosFleet(workers: arguments.workers, layout: plan.layout, population: population)
    producer = Producer(
      fleet.connection, JobMaker(seed: plan.seed, population: population, crosses: arguments.crosses),
      perSecond: arguments.perSecond)
    movers = Movers(seed: plan.seed, sidecar: fleet.sidecar, producer: producer)
    builds = Builds(seed: plan.seed, users: population.builders, fleet: fleet, producer: producer)
    state = QueueState(connection: fleet.connection, queues: Producer.queues)
    try await fleet.populate(population)
    if plan.hasBothEnvironments { try await builds.register() }
    try await fleet.gateway.settings(#"{"rttMs":\#(Injector.usualDelay)}"#)
  }

  func execute() async throws -> Report {
    evidence.wasFull = plan.steps.contains { $0.kind == .redisFull }
    watch = .every(Run.watchInterval) { [unowned self] in
      for seat in fleet.seats {
        seat.observe()
        do { try seat.revive() } catch { steps.append("cannot start a worker: \(error)") }
      }
    }
    producer.start()
    movers.start(population.moving)
    builds.start()
    let injector = Injector(fleet, builds) { [unowned self] step in note("\(step)") }
    for step in plan.steps {
      let goal = producer.confirmed + step.gap
      try? await eventually(within: Run.gapTime, "progress") { producer.confirmed >= goal }
      do { try await injector.begin(step) } catch { throw Unjudged(error) }
      if step.number.isMultiple(of: Run.progressEvery) {
        Chaos.say("\(step.number) of \(plan.steps.count) faults, \(seconds) s")
      }
    }
    note("all faults have begun")
    do { try await injector.finish() } catch { throw Unjudged(error) }
    await movers.stop()
    await builds.stop()
    try await producer.stop()
    note("all faults are over; \(producer.jobs.count) jobs enqueued")
    try await settle()
    try await requeueUncertain()
    try await end()
    try await collect()
    return Report(
      plan: plan, injected: injector.injected, verdict: Judge.verdict(on: evidence), seconds: seconds,
      changes: movers.changes)
  }

  private var seconds: Int { Int((ContinuousClock.now - started).components.seconds) }

  private func note(_ line: String) {
    steps.append("\(seconds) s: \(line)")
    if arguments.isVerbose { Chaos.say(steps.last ?? "") }
  }

  /// Waits until no job waits or is in flight.
  private func settle() async throws {
    try await fleet.connection.ready(within: patience)
    var left: [String] = []
    do {
      try await eventually(within: Run.settleTime, "all jobs have ended") {
        left = (try? await state.jobs()) ?? ["Redis does not answer"]
        if !left.isEmpty { try await Task.sleep(for: Run.watchInterval) }
        return left.isEmpty
      }
    } catch {
      throw ChaosError("\(error); left over: \(left.joined(separator: ", "))")
    }
    note("all jobs have ended")
  }

  /// Sends again what may have been sent, as an operator does after having looked at it.
  private func requeueUncertain() async throws {
    for _ in 0..<Run.requeueRounds {
      let uncertain = try await state.deadLetters().filter { $0.reason.hasPrefix("Uncertain") }
      if uncertain.isEmpty { break }
      let now = Clock.unixNanoseconds
      for letter in uncertain { evidence.requeued[letter.id, default: []].append(now) }
      note(try await fleet.martlet("dead", "requeue", "--reason", "Uncertain"))
      try await settle()
    }
    evidence.deadLetters = try await state.deadLetters().map { "\($0.id): \($0.reason)" }
  }

  /// Ends the workers and the sidecar, after the names of all dead workers are gone.
  private func end() async throws {
    let pids = fleet.seats.map(\.pid)
    var names: [[String]] = []
    do {
      try await eventually("every dead worker was reaped") {
        try await Task.sleep(for: Run.watchInterval)
        names = try await state.workers()
        return names.allSatisfy { $0.count == pids.count && Set($0.map(QueueState.pid(ofWorker:))) == Set(pids) }
      }
    } catch {
      throw ChaosError("\(error); processes \(pids), workers \(names)")
    }
    watch = nil
    for seat in fleet.seats { try await seat.stop(andStart: false) }
    if try await fleet.sidecar.stop() != 0 { evidence.endings.append("the sidecar did not end with 0 on SIGTERM") }
    evidence.leftovers = try await state.remains()
  }

  private func collect() async throws {
    evidence.jobs = producer.jobs
    evidence.records = try await state.records(of: producer.jobs.map(\.id))
    evidence.pushes = try fleet.pushes()
    evidence.removed = try await state.unregistered(of: population.lasting + builds.tokens)
    evidence.ownership = movers.timeline
    evidence.incidents = fleet.seats.flatMap(\.incidents)
    evidence.connections = fleet.connections
    evidence.clockJumps = fleet.clock.jumps
    evidence.endings += fleet.seats.flatMap(\.surprises)
  }

  /// Keeps what explains a violation. `report` is what is said of it.
  func keepArtifacts(_ report: String) async {
    let files = FileManager.default
    do {
      let place = try EvidenceDirectory(parent: arguments.artifacts).make(for: plan)
      try write([report], "\(place)/report")
      for (name, lines) in fleet.logs { try write(lines, "\(place)/\(name).log") }
      try write(steps, "\(place)/steps")
      try write(plan.steps.map(\.description), "\(place)/plan")
      try write(fleet.seats.flatMap(\.incidents).map { "\($0)" }, "\(place)/incidents")
      try write(movers.timeline.lines, "\(place)/owners")
      try write(builds.lines, "\(place)/environments")
      try write(
        producer.jobs.map { job in "\(job) \(evidence.records[job.id].map { "\($0)" } ?? "no record")" },
        "\(place)/jobs")
      for path in fleet.journals {
        try files.copyItem(atPath: path, toPath: "\(place)/\(URL(fileURLWithPath: path).lastPathComponent)")
      }
      Chaos.say("logs, plan, records and journal are in \(place)")
    } catch {
      Chaos.say("cannot keep the logs in \(arguments.artifacts): \(error)")
    }
  }

  private func write(_ lines: [String], _ path: String) throws {
    try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
  }
}
