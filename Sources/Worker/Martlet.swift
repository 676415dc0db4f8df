@main
enum Martlet {
  static func main() {}
}
