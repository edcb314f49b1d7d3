// time KIND N: templates, virtual functions and exceptions.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static volatile unsigned sink;

// In a static program these note tables, which the first exception sorts: that
// would be nine of ten instructions. The program's headers name sorted ones: link
// with -z muldefs --eh-frame-hdr.
extern "C" void __register_frame_info(const void *, void *) {}
extern "C" void *__deregister_frame_info(const void *) { return nullptr; }

template <int N>
struct power {
    __attribute__((noinline)) static unsigned of(unsigned x)
    {
        return x * power<N - 1>::of(x + 1);
    }
};
template <>
struct power<0> {
    __attribute__((noinline)) static unsigned of(unsigned) { return 1; }
};

struct shape {
    virtual ~shape() {}
    virtual unsigned area() const = 0;
};
struct square : shape {
    unsigned a;
    explicit square(unsigned n) : a(n) {}
    unsigned area() const override { return a * a; }
};
struct strip : shape {
    unsigned a;
    explicit strip(unsigned n) : a(n) {}
    unsigned area() const override
    {
        if (a % 7 == 0) throw std::runtime_error("a strip of seven");
        return a * 3;
    }
};

template <typename T>
__attribute__((noinline)) static T sum(const std::vector<T> &v)
{
    T s = T();
    for (const T &x : v) s = s + x;
    return s;
}

int main(int argc, char **argv)
{
    const int n = argc > 2 ? std::atoi(argv[2]) : 0;
    for (int i = 0; i < n; i++) {
        std::vector<std::unique_ptr<shape>> shapes;
        std::map<std::string, unsigned> names;
        std::vector<unsigned> areas;
        for (unsigned k = 1; k < 20; k++) {
            if (k % 2)
                shapes.emplace_back(new square(k));
            else
                shapes.emplace_back(new strip(k));
            names["shape " + std::to_string(k % 5)] += power<9>::of(k);
        }
        for (const auto &s : shapes) {
            try {
                areas.push_back(s->area());
            } catch (const std::exception &e) {
                sink += (unsigned) e.what()[0];
            }
        }
        std::sort(areas.begin(), areas.end());
        sink += sum(areas) + sum(std::vector<double>(areas.begin(),
                                                     areas.end())) > 1;
        sink += (unsigned) names.size();
    }
    return 0;
}
