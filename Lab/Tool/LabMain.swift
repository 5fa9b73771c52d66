import RepriseCommandLine

@main
enum LabMain {
    static func main() async { await CommandMain.run(LabCommand.self) }
}
