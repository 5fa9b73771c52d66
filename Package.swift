// swift-tools-version: 6.2
import PackageDescription

// scripts/fuzz sets this to libFuzzer's archive: then our own modules are instrumented, and there
// is one more program.
let fuzzer = Context.environment["REPRISE_FUZZER"]

// A warning is an error where CI sets REPRISE_STRICT:
// docs/architecture/testing.md#warnings-are-errors-where-reprise_strict1.
let strict: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["REPRISE_STRICT"] == "1" ? [.treatAllWarnings(as: .error)] : [])
    + (fuzzer == nil ? [] : [.unsafeFlags(["-O", "-sanitize=fuzzer,address"])])

// Each package that only some products need is named under a trait alone: an app that uses `Reprise`
// resolves GRDB, swift-crypto, swift-asn1, swift-log and swift-collections, and nothing of a server.
// docs/architecture/layout.md#traits.
func under(_ trait: String, _ package: String, _ products: String...) -> [Target.Dependency] {
    products.map { .product(name: $0, package: package, condition: .when(traits: [trait])) }
}

let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")

let nio = under("NIO", "swift-nio", "NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket")
let tls = under("NIO", "swift-nio-ssl", "NIOSSL")
let httpClient = under("NIO", "async-http-client", "AsyncHTTPClient")
let certificates =
    under("Fakes", "swift-certificates", "X509") + under("Fakes", "swift-asn1", "SwiftASN1")
let http2 = under("Fakes", "swift-nio-http2", "NIOHTTP2")
let hummingbird = under("Server", "hummingbird", "Hummingbird", "HummingbirdCore")
let httpTypes = under("Server", "swift-nio-extras", "NIOHTTPTypes", "NIOHTTPTypesHTTP1")
let lifecycle = under("Server", "swift-service-lifecycle", "ServiceLifecycle")
let jwt = under("Server", "jwt-kit", "JWTKit")
let metrics = under("Server", "swift-metrics", "Metrics")
let arguments = under("Tool", "swift-argument-parser", "ArgumentParser")
let signals = under("Tool", "swift-service-lifecycle", "UnixSignals")
let configuration = under("Tool", "swift-configuration", "Configuration")
// Of tests and benchmarks alone.
let histogram = under("Lab", "hdrhistogram-swift", "Histogram")
let embedded = under("Lab", "swift-nio", "NIOEmbedded")
let serverTesting =
    under("Lab", "hummingbird", "HummingbirdTesting")
    + under("Lab", "swift-http-types", "HTTPTypes")

let package = Package(
    name: "reprise",
    platforms: [.iOS(.v18), .macOS(.v15)],
    products: [
        .library(name: "Reprise", targets: ["Reprise"]),
        .library(name: "RepriseUI", targets: ["RepriseUI"]),
        .library(name: "RepriseApple", targets: ["RepriseApple"]),
        .library(name: "RepriseExtension", targets: ["RepriseExtension"]),
        .library(name: "RepriseNIO", targets: ["RepriseNIO"]),
        .library(name: "RepriseServer", targets: ["RepriseServer"]),
        .library(name: "RepriseTesting", targets: ["RepriseTesting"]),
        .library(name: "RepriseFakes", targets: ["RepriseFakes"]),
        .library(name: "ReprisePhone", targets: ["ReprisePhone"]),
        .executable(name: "reprise", targets: ["RepriseCLI"]),
        .executable(name: "reprise-lab", targets: ["RepriseLab"]),
    ],
    traits: [
        .default(enabledTraits: []),
        .trait(
            name: "NIO", description: "RepriseNIO and ReprisePhone: sockets and HTTP on SwiftNIO"),
        .trait(
            name: "Fakes", description: "RepriseFakes: stand-ins for push services",
            enabledTraits: ["NIO"]),
        .trait(name: "Server", description: "RepriseServer", enabledTraits: ["NIO"]),
        .trait(name: "Tool", description: "The tool reprise", enabledTraits: ["Server"]),
        .trait(
            name: "Cluster", description: "reprise serve --log nats://…; needs the library nats.c",
            enabledTraits: ["Tool"]),
        .trait(
            name: "Lab", description: "Everything: the tests, and the tool reprise-lab",
            enabledTraits: ["Cluster", "Fakes"]),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(
            url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["JSON"]),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    ],
    targets: [
        // The device: no NIO, no Hummingbird (scripts/check-consumer).
        .target(name: "RepriseCore", dependencies: [deque, logging], swiftSettings: strict),
        .target(
            name: "RepriseWire", dependencies: ["RepriseCore", crypto], swiftSettings: strict),
        .target(
            name: "RepriseJournal", dependencies: ["RepriseCore", deque, grdb, sqlite, logging],
            swiftSettings: strict),
        .target(
            name: "RepriseChannels",
            dependencies: [
                "RepriseCore", "RepriseJournal", "RepriseWire", deque, grdb, sqlite, logging,
            ],
            swiftSettings: strict),
        .target(
            name: "RepriseForms",
            dependencies: ["RepriseCore", "RepriseJournal", "RepriseWire", grdb, sqlite, logging],
            // Links to Web/.
            resources: [.embedInCode("Page/forms.js"), .embedInCode("Page/forms.html")],
            swiftSettings: strict),
        .target(
            name: "RepriseReminders",
            dependencies: ["RepriseCore", "RepriseJournal", "RepriseWire", grdb, sqlite, logging],
            swiftSettings: strict),
        .target(
            name: "RepriseChains",
            dependencies: ["RepriseCore", "RepriseJournal", crypto, deque, grdb, sqlite, logging],
            swiftSettings: strict),
        .target(
            name: "RepriseNotices",
            dependencies: ["RepriseCore", "RepriseJournal", "RepriseWire", grdb, sqlite, logging],
            swiftSettings: strict),
        .target(
            name: "Reprise",
            dependencies: [
                "RepriseChains", "RepriseChannels", "RepriseCore", "RepriseForms", "RepriseJournal",
                "RepriseNotices", "RepriseReminders", "RepriseWire", grdb, logging, deque,
            ],
            swiftSettings: strict),

        // Adapters of the platform; empty on Linux.
        .target(
            name: "RepriseApple", dependencies: ["RepriseCore", "RepriseExtension"],
            swiftSettings: strict),
        // Nothing that an extension may not call (scripts/check-apple).
        .target(
            name: "RepriseExtension", dependencies: ["RepriseCore", "RepriseNotices"],
            swiftSettings: strict),
        .target(
            name: "RepriseUI", dependencies: ["Reprise", "RepriseApple", logging],
            swiftSettings: strict),

        // Transport, server, test kit, tool.
        .target(
            name: "RepriseNIO", dependencies: ["RepriseCore"] + nio + httpClient + tls,
            swiftSettings: strict),
        .target(
            name: "RepriseServer",
            dependencies: [
                "RepriseCore", "RepriseNIO", "RepriseWire", grdb, sqlite, logging, crypto, deque,
            ] + nio + httpClient + hummingbird + jwt + lifecycle + metrics + tls + httpTypes,
            resources: [.embedInCode("HTTP/openapi.json")],  // a link to docs/openapi.json
            swiftSettings: strict),
        // A cluster's journal in NATS; the SDK and the server know nothing of it.
        .systemLibrary(
            name: "CNats", pkgConfig: "libnats",
            providers: [.apt(["libnats-dev"]), .brew(["cnats"])]),
        .target(
            name: "RepriseCluster",
            dependencies: [
                "CNats", "RepriseCore", "RepriseServer", "RepriseWire", crypto, logging,
            ],
            swiftSettings: strict),
        .target(
            name: "RepriseTesting",
            dependencies: ["RepriseChains", "RepriseCore", "RepriseWire", deque],
            swiftSettings: strict),
        // Stand-ins for the push services: NIO, so not in RepriseTesting, which unit tests of apps
        // import.
        .target(
            name: "RepriseFakes",
            dependencies: [
                crypto
            ] + nio + tls + http2 + certificates,
            swiftSettings: strict),
        // The stand-in device: processes, Chromium, sockets, so not in RepriseTesting, which unit
        // tests of apps import.
        .target(
            name: "ReprisePhone",
            dependencies: [
                "RepriseApple", "RepriseCore", "RepriseJournal", "RepriseNIO", "RepriseTesting",
            ] + nio,
            swiftSettings: strict),
        // An app's own store, for reminders: an example, the demo's and the tests'.
        .target(
            name: "Goals", dependencies: ["RepriseCore", "RepriseReminders", grdb, sqlite],
            path: "Examples/Goals", swiftSettings: strict),
        // What the tools `reprise` and `reprise-lab` share: terminal, errors, the server's API.
        .target(
            name: "RepriseCommandLine",
            dependencies: [
                "RepriseChannels", "RepriseCore", "RepriseNIO", "RepriseServer", "RepriseWire",
                deque, logging,
            ] + arguments + lifecycle + signals,
            swiftSettings: strict),
        .executableTarget(
            name: "RepriseCLI",
            dependencies: [
                "Reprise", "RepriseApple", "RepriseChains", "RepriseChannels",
                "RepriseCommandLine", "RepriseCore", "RepriseForms", "RepriseJournal", "RepriseNIO",
                "RepriseNotices",
                "RepriseReminders", "RepriseServer", "RepriseWire", logging,
                .target(name: "RepriseCluster", condition: .when(traits: ["Cluster"])),
            ] + arguments + lifecycle + signals + configuration + hummingbird + nio,
            swiftSettings: strict),

        // What proves it: no product but the tool depends on it.
        .target(
            name: "RepriseSimulator",
            dependencies: [
                "RepriseChains", "RepriseChannels", "RepriseCore", "RepriseForms", "RepriseJournal",
                "RepriseNotices", "RepriseReminders", "RepriseServer", "RepriseTesting",
                "RepriseWire", deque, grdb,
                heap,
            ],
            path: "Lab/Simulator", swiftSettings: strict),
        .executableTarget(
            name: "RepriseLab",
            dependencies: [
                "Goals", "Reprise", "RepriseChains", "RepriseChannels", "RepriseCommandLine",
                "RepriseCore", "RepriseFakes", "RepriseForms", "RepriseJournal", "RepriseNIO",
                "RepriseNotices", "ReprisePhone", "RepriseReminders", "RepriseSimulator",
                "RepriseTesting", "RepriseWire", grdb,
            ] + nio + arguments,
            path: "Lab/Tool", swiftSettings: strict),
        .executableTarget(
            name: "crash-loop",
            dependencies: [
                "Reprise", "RepriseChannels", "RepriseCore", "RepriseJournal", "RepriseNIO",
                "RepriseServer", "RepriseTesting", "RepriseWire", grdb, logging,
            ] + lifecycle,
            path: "Lab/CrashLoop", swiftSettings: strict),
        .executableTarget(
            name: "log-workload",
            dependencies: ["RepriseCore", "RepriseWire", "RepriseServer", grdb],
            path: "Lab/LogWorkload", swiftSettings: strict),

        .executableTarget(
            name: "RepriseBenchmarks",
            dependencies: [
                "Reprise", "RepriseChains", "RepriseChannels", "RepriseCore", "RepriseFakes",
                "RepriseForms", "RepriseJournal", "RepriseNIO", "RepriseNotices", "ReprisePhone",
                "RepriseReminders", "RepriseServer", "RepriseWire", grdb, logging,
            ] + nio + tls + httpClient + lifecycle + arguments + histogram,
            path: "Benchmarks/Sources/RepriseBenchmarks",
            swiftSettings: [.swiftLanguageMode(.v6)]),

        // What the tests share: polling, disks, commands. Every test target has it, see below.
        .target(
            name: "RepriseTestSupport",
            dependencies: ["RepriseCore", "RepriseTesting", grdb, logging] + nio,
            path: "Tests/Support/RepriseTestSupport", swiftSettings: strict),

        // Processes that tests start and kill.
        .executableTarget(
            name: "hello", dependencies: ["Reprise", "RepriseNIO"],
            path: "Examples/Hello", swiftSettings: strict),
        .executableTarget(
            name: "JournalWriter",
            dependencies: ["RepriseCore", "RepriseJournal", "RepriseTesting", grdb],
            path: "Tests/Support/JournalWriter", swiftSettings: strict),
        .executableTarget(
            name: "ChainRunner",
            dependencies: [
                "RepriseChains", "RepriseCore", "RepriseJournal", "RepriseTesting", grdb,
            ],
            path: "Tests/Support/ChainRunner", swiftSettings: strict),
        .executableTarget(
            name: "PhoneProbe", dependencies: ["RepriseCore", "RepriseJournal", "ReprisePhone"],
            path: "Tests/Support/PhoneProbe", swiftSettings: strict),
        // The core of Examples/Courier, the same source; its own package has the name CourierCore.
        .target(
            name: "CourierSources", dependencies: ["Reprise"],
            path: "Examples/Courier/Core/Sources/CourierCore",
            swiftSettings: [.swiftLanguageMode(.v6)]),
        .executableTarget(
            name: "CourierOnPhone",
            dependencies: [
                "CourierSources", "Reprise", "RepriseCore", "RepriseNIO", "ReprisePhone",
                "RepriseUI",
            ],
            path: "Tests/Support/CourierOnPhone", swiftSettings: strict),
        .executableTarget(
            name: "DownloadRunner",
            dependencies: [
                "RepriseChains", "RepriseCore", "RepriseJournal", "RepriseNIO", "ReprisePhone",
            ],
            path: "Tests/Support/DownloadRunner", swiftSettings: strict),
        .executableTarget(
            name: "AccountSwitcher", dependencies: ["Reprise", "RepriseTesting"],
            path: "Tests/Support/AccountSwitcher", swiftSettings: strict),

        .testTarget(
            name: "RepriseCoreTests", dependencies: ["RepriseCore", "RepriseTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "RepriseWireTests", dependencies: ["RepriseCore", "RepriseWire"],
            swiftSettings: strict),
        .testTarget(
            name: "RepriseJournalTests",
            dependencies: [
                "JournalWriter", "RepriseCore", "RepriseJournal", "RepriseTesting", grdb, sqlite,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RepriseChannelsTests",
            dependencies: [
                "RepriseChannels", "RepriseCore", "RepriseJournal", "RepriseTesting",
                "RepriseWire", grdb,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RepriseFormsTests",
            dependencies: [
                "Reprise", "RepriseChannels", "RepriseCore", "RepriseForms", "RepriseJournal",
                "ReprisePhone", "RepriseTesting", "RepriseWire", grdb,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RepriseRemindersTests",
            dependencies: [
                "Goals", "Reprise", "RepriseCore", "RepriseJournal", "RepriseLab", "ReprisePhone",
                "RepriseReminders", "RepriseTesting", grdb,
            ],
            exclude: ["Vectors"], swiftSettings: strict),
        .testTarget(
            name: "RepriseChainsTests",
            dependencies: [
                "ChainRunner", "DownloadRunner", "PhoneProbe", "Reprise", "RepriseChains",
                "RepriseCore", "RepriseJournal", "RepriseNIO", "ReprisePhone", "RepriseTesting",
                crypto, grdb,
            ] + nio,
            swiftSettings: strict),
        .testTarget(
            name: "RepriseNoticesTests",
            dependencies: [
                "Reprise", "RepriseChannels", "RepriseCLI", "RepriseCore", "RepriseFakes",
                "RepriseJournal", "RepriseLab", "RepriseNIO", "RepriseNotices", "ReprisePhone",
                "RepriseServer", "RepriseTesting", "RepriseWire", grdb,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ReprisePhoneTests",
            dependencies: [
                "CourierOnPhone", "PhoneProbe", "RepriseCLI", "RepriseCore", "RepriseJournal",
                "RepriseNIO", "ReprisePhone", "RepriseTesting", "RepriseWire",
            ] + nio,
            swiftSettings: strict),
        .testTarget(
            name: "RepriseTestingTests",
            dependencies: [
                "PhoneProbe", "Reprise", "RepriseCore", "RepriseForms", "ReprisePhone",
                "RepriseTesting",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RepriseTests",
            dependencies: [
                "AccountSwitcher", "Reprise", "RepriseChannels", "RepriseCore", "RepriseJournal",
                "RepriseTesting", "RepriseWire", grdb, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RepriseUITests",
            dependencies: ["RepriseApple", "RepriseExtension", "RepriseTesting", "RepriseUI"],
            swiftSettings: strict),
        .testTarget(
            name: "RepriseDocumentationTests",
            dependencies: [
                "Reprise", "RepriseApple", "RepriseChains", "RepriseChannels", "RepriseCore",
                "RepriseForms", "RepriseNotices", "RepriseReminders", "RepriseWire", grdb,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RepriseNIOTests",
            dependencies: ["RepriseCore", "RepriseNIO"] + nio + tls + embedded,
            swiftSettings: strict),
        .testTarget(
            name: "RepriseServerTests",
            dependencies: [
                "log-workload", "RepriseCLI", "RepriseCluster", "RepriseCore", "RepriseFakes",
                "RepriseNIO", "RepriseServer", "RepriseTesting", "RepriseWire", grdb,
                logging, crypto,
            ] + nio + httpClient + hummingbird + jwt + lifecycle + metrics + tls + certificates
                + serverTesting + embedded,
            exclude: ["Cluster/Files"], swiftSettings: strict),
        .testTarget(
            name: "RepriseReliabilityTests",
            dependencies: [
                "crash-loop", "Reprise", "RepriseChannels", "RepriseCore", "RepriseJournal",
                "RepriseNIO", "RepriseServer", "RepriseTesting", "RepriseWire", grdb, logging,
            ] + nio + lifecycle,
            swiftSettings: strict),
        .testTarget(
            name: "RepriseSimulatorTests",
            dependencies: [
                "RepriseChains", "RepriseChannels", "RepriseCore", "RepriseForms", "RepriseJournal",
                "RepriseNotices", "RepriseReminders", "RepriseServer", "RepriseSimulator",
                "RepriseWire", grdb,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RepriseCLITests",
            dependencies: [
                "hello", "Reprise", "RepriseChains", "RepriseChannels", "RepriseCLI",
                "RepriseCommandLine", "RepriseCore", "RepriseFakes", "RepriseForms",
                "RepriseJournal", "RepriseNIO", "RepriseNotices", "ReprisePhone",
                "RepriseReminders", "RepriseServer", "RepriseSimulator", "RepriseWire",
                crypto, grdb,
            ],
            exclude: ["Recordings/Files"], swiftSettings: strict),
        .testTarget(
            name: "RepriseLabTests",
            dependencies: [
                "crash-loop", "RepriseCLI", "RepriseCommandLine", "RepriseCore", "RepriseLab",
                "ReprisePhone", "RepriseSimulator", "RepriseWire",
            ],
            exclude: ["Recordings/Files"], swiftSettings: strict),
    ]
)

// Apple's required-reason APIs are called by these (scripts/check-privacy). On other systems a resource
// would only cost a bundle.
let privacyManifests = ["RepriseApple", "RepriseChains", "RepriseJournal", "RepriseNIO"]
for target in package.targets where privacyManifests.contains(target.name) {
    #if canImport(Darwin)
        target.resources = (target.resources ?? []) + [.copy("PrivacyInfo.xcprivacy")]
    #else
        target.exclude.append("PrivacyInfo.xcprivacy")
    #endif
}

// The properties that parsers keep: over a corpus in `make test`, under libFuzzer in `make fuzz`.
let fuzzed: [Target.Dependency] =
    [
        "RepriseCore", "RepriseJournal", "RepriseNIO", "RepriseReminders", "RepriseServer",
        "RepriseWire",
    ] + nio + embedded
if let fuzzer {
    package.targets.append(
        .executableTarget(
            name: "reprise-fuzz", dependencies: fuzzed, path: "Tests/Fuzz",
            exclude: ["Corpora", "Tests"], sources: ["Driver", "Properties"],
            swiftSettings: strict,
            linkerSettings: [.unsafeFlags(["-sanitize=address", fuzzer, "-lstdc++"])]))
} else {
    package.targets.append(
        .testTarget(
            name: "RepriseFuzzTests", dependencies: fuzzed + ["RepriseCLI"],
            path: "Tests/Fuzz", exclude: ["Corpora", "Driver"], sources: ["Properties", "Tests"],
            swiftSettings: strict))
}

func name(of dependency: Target.Dependency) -> String? {
    switch dependency {
    case .targetItem(let name, _), .byNameItem(let name, _): name
    default: nil
    }
}

for target in package.targets where target.type == .test {
    let names = target.dependencies.compactMap(name)
    for support in ["RepriseTestSupport", "RepriseTesting"] where !names.contains(support) {
        target.dependencies.append(.init(stringLiteral: support))
    }
}

// While working: REPRISE_TESTS=RepriseServerTests,RepriseNIOTests builds only what these test
// targets need.
if let chosen = Context.environment["REPRISE_TESTS"]?.split(separator: ",").map(String.init) {
    let targets = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
    var needed: Set<String> = []
    var waiting = chosen
    while let next = waiting.popLast() {
        if needed.insert(next).inserted {
            waiting += targets[next]?.dependencies.compactMap(name) ?? []
        }
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { product in
        let targets =
            (product as? Product.Library)?.targets
            ?? (product as? Product.Executable)?.targets ?? []
        return !targets.allSatisfy(needed.contains)
    }
}
