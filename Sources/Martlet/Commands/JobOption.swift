import CFiles
import JSON
import Program
import Usage

/// An option of `martlet enqueue` that is a field of the job.
///
/// Those fields of docs/job.schema.json are options that have a `title`: the name of the value, if there is one, and the help.
struct JobOption {
  let option: CommandOption
  private let field: String
  /// Whether the field is a member of `to`.
  private let isAddressee: Bool
  /// The JSON types of the field.
  private let types: Set<String>

  /// Those of addressees first.
  static let all: [JobOption] = {
    let file = martlet_file_job_schema_json()
    let schema = try? JSONValue(parsing: Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
    guard let fields = schema?["properties"], let addressees = fields["to"]?["properties"]?.members else {
      preconditionFailure("the schema of jobs has no addressees")
    }
    let others = (fields.members ?? []).compactMap { JobOption($0, isAddressee: false) }
    return addressees.compactMap { JobOption($0, isAddressee: true) } + others
  }()

  private init?(_ field: JSONMember, isAddressee: Bool) {
    guard let title = field.value["title"]?.string else { return nil }
    self.field = field.key
    self.isAddressee = isAddressee
    types = JobOption.types(of: field.value)
    let name = field.key.reduce(into: "") { $0 += $1.isUppercase ? "-" + $1.lowercased() : String($1) }
    let words = title.split(separator: ": ", maxSplits: 1).map(String.init)
    option =
      if types.contains("boolean") {
        CommandOption(name, title)
      } else if types.contains("integer"), !types.contains("string") {
        CommandOption(name, .number(words[0], 0...Int.max), words[1])
      } else {
        CommandOption(name, .text(words[0]), words[1])
      }
  }

  private static func types(of schema: JSONValue) -> Set<String> {
    let forms = (schema["oneOf"] ?? schema["anyOf"])?.array ?? [schema]
    return Set(
      forms.flatMap { form in form["type"]?.array?.compactMap(\.string) ?? [form["type"]?.string].compactMap(\.self) })
  }

  /// Returns the job that the options of a command line describe. An app without another addressee is the addressee.
  static func job(from line: CommandLineWords) throws(CommandError) -> [UInt8] {
    let given = all.filter { line.has($0.option.name) }
    let isBroadcast = !given.contains { $0.isAddressee }
    var (addressee, job): (JSONObject, JSONObject) = ([:], [:])
    for option in given {
      let member: JSONObject = [option.field: try option.value(in: line)]
      if option.isAddressee || isBroadcast && option.field == "app" {
        addressee = addressee + member
      } else {
        job = job + member
      }
    }
    return (["to": addressee] + job).bytes
  }

  private func value(in line: CommandLineWords) throws(CommandError) -> (any JSONWritable)? {
    guard !option.isFlag else { return true }
    guard let text = line.value(option.name) else { return nil }
    if types.contains("object"), !types.contains("string") { return try json(text) }
    return types.contains("integer") ? text.integer(in: 0...Int.max) ?? text : text
  }

  private func json(_ text: String) throws(CommandError) -> JSONText {
    let bytes = Array(text.utf8)
    // Text after the value could add members to the job.
    do {
      _ = try JSONValue(parsing: bytes)
    } catch {
      throw .usage("--\(option.name) takes one JSON value: \(error)")
    }
    return JSONText(bytes)
  }
}
