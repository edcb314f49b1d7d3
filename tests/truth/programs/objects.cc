// objects.cc: C++: virtual calls, exceptions, containers, std::function.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() {}
    virtual double area() const = 0;
};
struct Square : Shape {
    explicit Square(double s) : side(s) {}
    double area() const override { return side * side; }
    double side;
};
struct Circle : Shape {
    explicit Circle(double r) : radius(r) {}
    double area() const override
    {
        if (radius > 40)
            throw std::out_of_range("too large");
        return 3 * radius * radius;
    }
    double radius;
};

int main()
{
    std::map<std::string, std::vector<std::unique_ptr<Shape>>> shapes;
    std::vector<std::function<double(double)>> steps;
    double sum = 0;
    int thrown = 0;

    for (int i = 0; i < 1500; i++) {
        auto &list = shapes["key " + std::to_string(i * 7919 % 101)];
        if (i % 3)
            list.emplace_back(new Square(i % 50));
        else
            list.emplace_back(new Circle(i % 50));
    }
    for (int i = 0; i < 5; i++)
        steps.push_back([i](double x) { return x * (i + 1) - i; });
    for (auto &entry : shapes) {
        std::sort(entry.second.begin(), entry.second.end(),
                  [](const std::unique_ptr<Shape> &a,
                     const std::unique_ptr<Shape> &b) { return a < b; });
        for (auto &shape : entry.second) {
            try {
                sum += shape->area();
            } catch (const std::exception &) {
                thrown++;
            }
            for (auto &step : steps)
                sum = step(sum) / 3;
        }
    }
    std::printf("%g, %d thrown\n", sum, thrown);
    return 0;
}
