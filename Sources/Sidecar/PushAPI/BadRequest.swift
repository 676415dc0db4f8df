/// What is wrong with a request, in the words that its sender gets to read; 400.
struct BadRequest: Error, Equatable {
  let text: String

  static let noObject = BadRequest(text: "Request body must be a JSON object")
  static let tokenRequired = BadRequest(text: "Push token is required")
  static let invalidToken = BadRequest(text: "Invalid push token format")
  static let unsupportedPlatform = BadRequest(text: "Unsupported push platform")
}
