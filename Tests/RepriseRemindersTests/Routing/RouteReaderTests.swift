import RepriseCore
import RepriseReminders
import RepriseTestSupport
import Testing

@Suite("Payload routing")
struct RouteReaderTests {
    private func read(_ payload: String, readers: [RouteReader] = []) -> ReminderInfo.Reading {
        RouteReading(sort: "goal", readers: readers).read(info: Array(payload.utf8))
    }

    @Test("A payload is read as it was written, with every member and with none")
    func roundTrip() {
        let whole = ReminderInfo(
            route: Route(
                sort: "goal", id: "g \"1\"\\\n🎯", part: "q", owner: "anna", isTest: true),
            reminder: "morning", occurrence: "2026-11-21T07:30", print: "abc")
        let bare = ReminderInfo(route: Route(sort: "goal", id: "g"))
        for info in [whole, bare] {
            #expect(ReminderInfo.reading(info.payload, sort: "other") == .read(info))
        }
        #expect(
            String(decoding: bare.payload, as: UTF8.self)
                == #"{"reprise":{"v":2,"sort":"goal","id":"g"}}"#)
    }

    @Test(
        "The formats of all versions in the field lead to the goal and its question",
        arguments: [
            (#"{"goalId":"g","questionId":"q","isTest":true}"#, true),
            (#"{"aps":{"alert":"x"},"goalId":"g","questionId":"q"}"#, false),
            (#"{"reprise":{"v":1,"goal":"g","question":"q"}}"#, false),
            (
                #"{"reprise":{"v":2,"sort":"goal","id":"g","part":"q","test":false,"new":[1]}}"#,
                false
            ),
            (
                #" {"reprise" : {"v":2,"sort":"goal","id":"\u0067","part":"q","owner":null}} "#,
                false
            ),
        ])
    func formats(payload: String, isTest: Bool) {
        let route = Route(sort: "goal", id: "g", part: "q", isTest: isTest)
        #expect(read(payload) == .read(ReminderInfo(route: route)))
    }

    private static let long = String(repeating: "x", count: 129)

    @Test(
        "A malformed payload has an error that names what is wrong", .limit("taps.route"),
        arguments: [
            ("", .notJSON), ("nonsense", .notJSON), ("[]", .notJSON), ("{\"a\":", .notJSON),
            ("{} {}", .notJSON), ("{}", .noRoute), (#"{"aps":{"alert":"news"}}"#, .noRoute),
            (#"{"other":{"id":"g"}}"#, .noRoute),
            (#"{"reprise":null}"#, .invalid(field: "reprise")),
            (#"{"reprise":"g"}"#, .invalid(field: "reprise")),
            (#"{"reprise":{}}"#, .missing(field: "v")),
            (#"{"reprise":{"v":"2"}}"#, .invalid(field: "v")),
            (#"{"reprise":{"v":2.0}}"#, .invalid(field: "v")),
            (#"{"reprise":{"v":0}}"#, .invalid(field: "v")),
            (#"{"reprise":{"v":3,"sort":"goal"}}"#, .newer(version: 3)),
            (#"{"reprise":{"v":99999999999999999999}}"#, .invalid(field: "v")),
            (#"{"reprise":{"v":2,"id":"g"}}"#, .missing(field: "sort")),
            (#"{"reprise":{"v":2,"sort":"goal"}}"#, .missing(field: "id")),
            (#"{"reprise":{"v":2,"sort":"goal","id":null}}"#, .missing(field: "id")),
            (#"{"reprise":{"v":2,"sort":"goal","id":""}}"#, .invalid(field: "id")),
            (#"{"reprise":{"v":2,"sort":"goal","id":7}}"#, .invalid(field: "id")),
            (#"{"reprise":{"v":2,"sort":"goal","id":"\#(long)"}}"#, .invalid(field: "id")),
            (#"{"reprise":{"v":2,"sort":"goal","id":"g","part":{}}}"#, .invalid(field: "part")),
            (#"{"reprise":{"v":2,"sort":"goal","id":"g","owner":""}}"#, .invalid(field: "owner")),
            (#"{"reprise":{"v":2,"sort":"goal","id":"g","test":"yes"}}"#, .invalid(field: "test")),
            (#"{"reprise":{"v":1}}"#, .missing(field: "goal")),
            (#"{"reprise":{"v":1,"goal":"g","question":1}}"#, .invalid(field: "question")),
            (#"{"questionId":"q"}"#, .missing(field: "goalId")),
            (#"{"goalId":12}"#, .invalid(field: "goalId")),
            (#"{"goalId":""}"#, .invalid(field: "goalId")),
            (#"{"goalId":"g","questionId":["q"]}"#, .invalid(field: "questionId")),
            (#"{"goalId":"g","isTest":1}"#, .invalid(field: "isTest")),
        ] as [(String, Malformation)])
    func malformed(payload: String, malformation: Malformation) {
        #expect(read(payload) == .malformed(malformation))
    }

    @Test(
        "A payload is read up to 4,096 bytes and 16 levels, and not beyond", .limit("taps.payload"))
    func bounds() {
        let head = #"{"goalId":"g","x":""#
        let fill = String(repeating: "x", count: 4_096 - head.utf8.count - 2)
        #expect(read(head + fill + "\"}") == .read(.init(route: Route(sort: "goal", id: "g"))))
        #expect(read(head + fill + "x\"}") == .malformed(.notJSON))
        func nested(_ levels: Int) -> String {
            #"{"goalId":"g","x":"# + String(repeating: "[", count: levels - 1)
                + String(repeating: "]", count: levels - 1) + "}"
        }
        #expect(read(nested(16)) == .read(.init(route: Route(sort: "goal", id: "g"))))
        #expect(read(nested(17)) == .malformed(.notJSON))
    }

    @Test("The app's own readers are asked in order about what is of no format of ours")
    func readers() {
        let readers = [
            RouteReader("none") { _ in .notMine },
            RouteReader("news") { info in
                switch String(decoding: info, as: UTF8.self) {
                case #"{"news":1}"#: .route(Route(sort: "goal", id: "n"))
                case #"{"news":2}"#: .malformed(.missing(field: "story"))
                case #"{"news":3}"#: .route(Route(sort: "goal", id: ""))
                default: .notMine
                }
            },
            RouteReader("late") { _ in .route(Route(sort: "goal", id: "late")) },
        ]
        func route(_ id: String) -> ReminderInfo.Reading {
            .read(ReminderInfo(route: Route(sort: "goal", id: id)))
        }
        #expect(read(#"{"news":1}"#, readers: readers) == route("n"))
        #expect(
            read(#"{"news":2}"#, readers: readers) == .malformed(.missing(field: "story")))
        #expect(read(#"{"news":3}"#, readers: readers) == .malformed(.invalid(field: "id")))
        #expect(read(#"{"x":1}"#, readers: readers) == route("late"))
        #expect(read(#"{"goalId":"g"}"#, readers: readers) == route("g"))
        #expect(read("no JSON", readers: readers) == .malformed(.notJSON))
    }

    @Test(
        "A deep link leads where it says",
        arguments: [
            ("goals://goal/g", Route(sort: "goal", id: "g")),
            ("goals://goal/g/", Route(sort: "goal", id: "g")),
            (
                "goals://goal/g/q?owner=anna&test=1#x",
                Route(
                    sort: "goal", id: "g", part: "q", owner: "anna", isTest: true)
            ),
            ("goals://goal/a%2Fb%20c", Route(sort: "goal", id: "a/b c")),
        ])
    func links(link: String, route: Route) {
        #expect(
            RouteReading(sort: "goal").read(RouteArrival(link: link))
                == .read(ReminderInfo(route: route)))
    }

    @Test(
        "A deep link that leads nowhere says why", .limit("taps.link"),
        arguments: [
            ("", .noRoute), ("goal/g", .noRoute), ("https://goal/g", .noRoute),
            ("http:x://goal/g", .noRoute), ("my goals://goal/g", .noRoute),
            ("9://goal/g", .noRoute),
            ("://goal/g", .noRoute), ("goals://", .missing(field: "sort")),
            ("goals://goal", .missing(field: "id")), ("goals://goal/", .missing(field: "id")),
            ("goals://goal/g/q/r", .invalid(field: "link")),
            ("goals://goal/%zz", .invalid(field: "link")),
            ("goals://goal/\(long)", .invalid(field: "id")),
            ("goals://goal/" + String(repeating: "é", count: 3_000), .invalid(field: "link")),
        ] as [(String, Malformation)])
    func badLinks(link: String, malformation: Malformation) {
        #expect(
            RouteReading(sort: "goal").read(RouteArrival(link: link)) == .malformed(malformation))
    }

    @Test("A payload is in the journal as it came, even if malformed", .limit("taps.reply"))
    func arrivals() throws {
        let infos = [
            #"{"a":[1,"é\u0000"]}"#, "no JSON", "[1]", String(repeating: "x", count: 5_000),
        ]
        for (index, info) in infos.enumerated() {
            let answer = String(repeating: "\"é", count: index == 0 ? 10_000 : 1)
            let arrival = RouteArrival(
                tap("a", info: info, category: "goal", action: .text("log", answer: answer)))
            #expect(arrival.info == (index == 0 ? Array(info.utf8) : nil))
            #expect((arrival.answer?.utf8.count ?? 0) <= RouteLimits.answer)
            #expect(try RouteArrival(payload: arrival.payload) == arrival)
        }
    }
}
