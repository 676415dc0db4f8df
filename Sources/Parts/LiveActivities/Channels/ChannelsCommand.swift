import APNs
import Usage
import EventLoop
import JSON
import Operations
import Program
import PushModel
import Registry

/// `martlet channels`: manages the broadcast channels of an app.
enum ChannelsCommand: Command {
  static let usage = CommandUsage(
    "martlet channels", "list, create, show, delete or adopt broadcast channels",
    forms: [
      CommandForm("list", "compare channels with those of APNs", [], [app, json]),
      CommandForm(
        "create", "create a channel", [.name],
        [
          app,
          .init(
            "storage", .choice("WHAT", ["newest", "none"]),
            """
            what APNs keeps for devices that are offline: newest (default), the newest broadcast, for 8 hours at most; or \
            none, which allows more broadcasts; it cannot be changed later
            """), json,
        ]),
      CommandForm("show", "show a channel", [.name], [app, json]),
      CommandForm("delete", "delete a channel for good", [CommandArgument("NAME|ID")], [app, json]),
      CommandForm(
        "adopt", "give a channel of APNs a name", [.name],
        [
          .init("id", .text("ID"), isRequired: true, "APNs' id of the channel"),
          .init(
            "environment", .choice("NAME", ["production", "sandbox"]), isRequired: true, "where the channel is"),
          app, json,
        ]),
    ],
    text: """
      APNs sends one broadcast to every device whose Live Activity has subscribed to a channel. A job names the channel, and
      is sent in each environment in which the channel exists. Works in each environment for which the app has a key.

      list compares with APNs' list: ok, missing (APNs does not know it: delete it, then create it again), orphan (only APNs
      knows it, as after a creation whose answer was lost: adopt or delete it), unknown (APNs could not be asked). create
      creates what does not exist yet. delete deletes for good: devices that have subscribed get nothing more. adopt gives a
      channel of APNs a name.

      Exit code 1 if an environment could not be asked, or if something was not done there.
      """)

  private static let app = CommandOption("app", .text("BUNDLE_ID"), "the app; default: APNS_BUNDLE_ID")
  private static let json = CommandOption(
    "json", "print JSON, one object a line: {\"name\",\"environment\",\"id\",\"storage\",\"state\"}")

  /// What the words ask for.
  private struct Request {
    let verb: String
    /// Of all but list: a name, or for delete an id.
    let subject: String
    let bundleID: String
    let line: CommandLineWords
  }

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let (verb, subject) = (line.action, line.arguments.first ?? "")
    guard verb == "list" || Channel.isName(subject) || verb == "delete" && ChannelID.isWellFormed(subject) else {
      throw CommandError.usage("the name of a channel has \(Channel.nameRule)")
    }
    var settings = ChannelSettings()
    let configuration = try ClientConfiguration(environment) { settings = ChannelSettings(&$0) }
    let bundleID = line.value("app") ?? settings.bundleID ?? ""
    guard BundleID.isWellFormed(bundleID) else { throw CommandError.usage("expected --app and a bundle id") }
    let places = settings.places(of: bundleID)
    guard !places.isEmpty else {
      throw CommandError.refused(
        "no key for \(bundleID): set APNS_KEY_ID, APNS_TEAM_ID and the key, or add the app to MARTLET_APPS")
    }
    let request = Request(verb: verb, subject: subject, bundleID: bundleID, line: line)
    return try await configuration.withConnection { connection in
      let control = ChannelControl(bundleID: bundleID, places: places, connection: connection)
      return try await run(request, control)
    }
  }

  @EventLoop
  private static func run(_ request: Request, _ control: ChannelControl) async throws -> ExitCode {
    switch request.verb {
    case "list": return show(try await control.list(), request)
    case "show": return show(await control.overview(of: try await known(request, control)), request)
    case "create": return report(try await create(request, control), request)
    case "adopt": return report([try await adopt(request, control)], request)
    default:
      if Channel.isName(request.subject), let channel = try await control.channel(request.subject) {
        return report(try await control.delete(channel), request)
      }
      let steps = try await control.delete(id: request.subject)
      guard !steps.isEmpty else { throw unknown(request) }
      return report(steps, request)
    }
  }

  @EventLoop
  private static func known(_ request: Request, _ control: ChannelControl) async throws -> Channel {
    guard let channel = try await control.channel(request.subject) else { throw unknown(request) }
    return channel
  }

  private static func unknown(_ request: Request) -> CommandError {
    .failed("\(request.bundleID) has no channel '\(request.subject)'; martlet channels list shows all")
  }

  @EventLoop
  private static func create(_ request: Request, _ control: ChannelControl) async throws -> [ChannelStep] {
    let wanted = request.line.value("storage").flatMap(ChannelStorage.init(rawValue:))
    let known = try await control.channel(request.subject)
    if let known, let wanted, known.storage != wanted {
      throw CommandError.failed(
        "'\(request.subject)' exists with --storage \(known.storage.rawValue), which cannot be changed; delete it first"
      )
    }
    return try await control.create(request.subject, wanted ?? known?.storage ?? .newest)
  }

  @EventLoop
  private static func adopt(_ request: Request, _ control: ChannelControl) async throws -> ChannelStep {
    guard let id = request.line.value("id"), ChannelID.isWellFormed(id),
      let environment = request.line.value("environment").flatMap(PushEnvironment.init(named:))
    else { throw CommandError.usage("expected --id and APNs' id") }
    return try await control.adopt(id, in: environment, as: request.subject)
  }

  private static func show(_ overview: ChannelControl.Overview, _ request: Request) -> ExitCode {
    Console.print(
      ChannelLine.text(overview.entries, isJSON: request.line.has("json"), app: request.bundleID))
    for fault in overview.faults { Console.complain("\(fault.environment.rawValue): \(fault.reason)\n") }
    return overview.faults.isEmpty ? .done : .failed
  }

  private static func report(_ steps: [ChannelStep], _ request: Request) -> ExitCode {
    var code = ExitCode.done
    let isID = request.verb == "delete" && !Channel.isName(request.subject)
    for step in steps {
      let row = ChannelLine(
        name: isID ? nil : request.subject, environment: step.environment, id: step.id, state: step.result.rawValue)
      if let fault = step.fault {
        code = .failed
        Console.complain("\(step.environment.rawValue): \(fault)\n")
      } else if !request.line.has("json") {
        Console.print("\(step.environment.rawValue): \(row.state) \(row.id ?? "")\n")
      }
      if request.line.has("json") { Console.print(row.json) }
    }
    return code
  }
}
