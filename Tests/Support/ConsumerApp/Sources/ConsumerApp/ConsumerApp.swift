import Reprise

/// Imports the SDK as an app does; scripts/check-consumer builds and runs it.
@main
struct ConsumerApp {
    static func main() {
        print("The consumer app runs.")
    }
}
