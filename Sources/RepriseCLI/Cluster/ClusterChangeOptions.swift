import ArgumentParser

/// For a command that changes a cluster's journal, and only shows what it would do without `--yes`.
struct ClusterChangeOptions: ParsableArguments {
    @OptionGroup var place: ClusterPlaceOptions
    @Flag(help: "Do it.") var yes = false
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws { try place.requireLog() }
}
