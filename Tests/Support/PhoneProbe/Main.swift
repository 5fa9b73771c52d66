/// An app on the phone that does nothing but say what the system does to it.
@main
enum PhoneProbe {
    static func main() {}
}
