import Credentials
import EventLoop
import JSON
import Operations
import PushModel
import Redis
import Registry
import Telemetry

/// `/devices`: the devices of a user, a token or an instance, why pushes arrive there or not, a test push, and their removal.
@EventLoop
struct DevicesPage: DashboardPage {
  /// Devices on one page.
  nonisolated static let pageSize = 50

  let context: DashboardContext

  let path = "/devices"
  let section = Section.devices
  let actions: [PageAction] = [.test, .remove]

  private func facts(_ query: InspectedAddressee, _ request: PageRequest) async throws(PageError) -> AddresseeFacts {
    try await refusingFaults(
      await context.fleet.facts(
        of: query, in: context.registry, context.configuration.explainers, showsWholeTokens: request.showsWholeTokens))
  }

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    guard let query = try await query(request) else { return empty(request) }
    let facts = try await facts(query, request)
    let all = facts.registered
    let start = try DevicesPage.start(request, count: all.count)
    let shown = all.dropFirst(start).prefix(DevicesPage.pageSize).compactMap(DeviceEntry.init)
    return Page(DevicesPage.title(query)) { html in
      search(request, &html)
      html.region("devices") { html in
        FindingsPanel(explanation: facts.explanation, request: request).append(to: &html)
        DevicesPanel(query: query, entries: shown, pages: facts.pages, request: request)
          .append(to: &html, start: start, count: all.count, isComplete: facts.isComplete)
      }
    }
  }

  private func empty(_ request: PageRequest) -> Page {
    var page = Page("Devices", summary: "Whose pushes do not arrive? Look up a user, a device token or an instance.") {
      search(request, &$0)
    }
    page.refreshes = false
    return page
  }

  private func search(_ request: PageRequest, _ html: inout HTML) {
    html.filterForm(
      request,
      [
        FilterField("user", "User", .text(placeholder: "alice")),
        FilterField("token", "Device token", .text(placeholder: "740f4707…")),
        FilterField("instance", "Instance", .text(placeholder: "home-1")),
      ], button: "Look up")
  }

  nonisolated static func title(_ query: InspectedAddressee) -> String {
    switch query {
    case .user(let name): "Devices of \(name)"
    case .token(let token): "Device \(Log.shortened(token))"
    case .instance(let id): "Device of instance \(id)"
    }
  }

  /// The place of the first device that is shown.
  private static func start(_ request: PageRequest, count: Int) throws(PageError) -> Int {
    guard let cursor = request.query("cursor") else { return 0 }
    guard let start = cursor.integer(in: 0...max(count - 1, 0)), start % pageSize == 0 else { throw .badCursor }
    return start
  }

  // MARK: - Actions

  func subject(of action: PageAction, _ request: PageRequest) async -> String {
    let device = "device \(request.named("device", Log.shortened))"
    do throws(PageError) {
      guard let query = try await query(request) else { return device }
      return try await entry(request, query)?.subject(query) ?? "\(device) of \(query.subject)"
    } catch {
      return device
    }
  }

  /// Whose devices a request is about.
  private func query(_ request: PageRequest) async throws(PageError) -> InspectedAddressee? {
    guard let link = JobDevice(request) else { return try InspectedAddressee.read(request) }
    return .token(try await link.token(context).text)
  }

  /// The device that a form names; nil if it is not registered any more.
  private func entry(_ request: PageRequest, _ query: InspectedAddressee) async throws(PageError) -> DeviceEntry? {
    let reference = request.field("device")
    return try await facts(query, request).registered.lazy.compactMap(DeviceEntry.init).first {
      $0.reference == reference
    }
  }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    guard let query = try await query(request), request.field("device") != nil else {
      throw .badRequest("The form names no device. Nothing was changed.")
    }
    guard let entry = try await entry(request, query) else {
      throw .movedOn("This device is no longer registered here. Nothing was changed.")
    }
    guard action == .remove || entry.device.kind?.isOfActivities != true else {
      throw .badRequest("A token of a Live Activity takes no test push. Nothing was sent.")
    }
    return action == .remove
      ? try await remove(entry, query) : try await sendTest(entry.device, query, request)
  }

  private func remove(_ entry: DeviceEntry, _ query: InspectedAddressee) async throws(PageError) -> ActionOutcome {
    let device = entry.device
    let shortened = Log.shortened(device.token.text)
    let gone: Bool
    if let instance = entry.instance {
      gone = try await deactivate(device, of: instance)
    } else if case .user(let name) = query {
      let removed = try await refusingFaults(await context.registry.unregister(token: device.token, username: name))
      gone = removed.entries + removed.metadata > 0
    } else {
      gone = try await refusingFaults(await context.registry.forget(token: device.token))
    }
    guard gone else { throw .movedOn("The device \(shortened) was already gone. Nothing was changed.") }
    return .done("The device \(shortened) was removed. It gets pushes again when its app registers it.")
  }

  private func deactivate(_ device: Device, of id: String) async throws(PageError) -> Bool {
    let result = await withCheckedContinuation { continuation in
      context.registry.deactivate(instance: id, token: device.token, notAfter: device.updatedAt) {
        continuation.resume(returning: $0)
      }
    }
    return try await refusingFaults(try result.get()) > 0
  }

  private func sendTest(
    _ device: Device, _ query: InspectedAddressee, _ request: PageRequest
  ) async throws(PageError) -> ActionOutcome {
    let job = TestPush(device: device, query: query, by: request.operator.name, now: request.now)
    let queue = context.queues.contains("push:jobs") ? "push:jobs" : context.queues[0]
    _ = try await refusingFaults(await context.connection.send(RedisCommand("LPUSH", queue).with(job.json)))
    return .done(
      "A test push to \(Log.shortened(device.token.text)) is in the queue \(queue).",
      then: request.link("jobs", job.id))
  }
}
