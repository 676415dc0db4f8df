/// A command that cannot be followed; says what to do.
struct ControlError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
